/// The ranges of a file that are decrypted already. Ranges that touch are one, so that there are as many as chunks at most.
struct DecryptedRanges: Sendable {
    /// In the order of the file; none touches another.
    private var ranges: [Range<Int64>] = []

    /// Ranges, at most.
    private static let limit = 1 << 20

    /// Adds a range.
    ///
    /// - Returns: false when a part of it is there already, or there are too many.
    mutating func insert(_ range: Range<Int64>) -> Bool {
        guard !range.isEmpty else { return true }
        // nearly all come in the order of the file
        if let last = ranges.last, range.lowerBound <= last.upperBound {
            guard range.lowerBound < last.upperBound else {
                ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
                return true
            }
            return insertBefore(range)
        }
        guard ranges.count < Self.limit else { return false }
        ranges.append(range)
        return true
    }

    private mutating func insertBefore(_ range: Range<Int64>) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
        }
        guard low == ranges.count || range.upperBound <= ranges[low].lowerBound else { return false }
        let joinsBefore = low > 0 && ranges[low - 1].upperBound == range.lowerBound
        let joinsNext = low < ranges.count && ranges[low].lowerBound == range.upperBound
        switch (joinsBefore, joinsNext) {
        case (true, true):
            ranges[low - 1] = ranges[low - 1].lowerBound..<ranges[low].upperBound
            ranges.remove(at: low)
        case (true, false): ranges[low - 1] = ranges[low - 1].lowerBound..<range.upperBound
        case (false, true): ranges[low] = range.lowerBound..<ranges[low].upperBound
        case (false, false):
            guard ranges.count < Self.limit else { return false }
            ranges.insert(range, at: low)
        }
        return true
    }
}
