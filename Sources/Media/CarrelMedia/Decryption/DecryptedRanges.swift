// SPDX-License-Identifier: Apache-2.0

/// The ranges of a file that are already decrypted. Adjacent ranges are merged, so that there are at most as many as chunks.
///
/// They are stored in runs of bounded length: an insertion in any order moves a few kilobytes, not all preceding ranges.
package struct DecryptedRanges: Sendable {
    /// In the order of the file, none of them empty; no range touches another of the same run.
    private var runs: [[Range<Int64>]] = []
    private var count = 0

    /// Ranges, at most.
    private static let limit = 1 << 20
    /// Ranges of a run, at most.
    private static let runLimit = 1024

    /// Nothing is decrypted.
    package init() {}

    /// Adds a range.
    ///
    /// - Parameter range: bytes of the file.
    /// - Returns: false if a part of it is already present, or there are too many ranges.
    package mutating func insert(_ range: Range<Int64>) -> Bool {
        guard !range.isEmpty else { return true }
        guard let last = runs.last?.last else {
            runs.append([range])
            count = 1
            return true
        }
        // nearly all come in the order of the file
        var run = runs.count - 1
        var index = runs[run].count
        if range.lowerBound < last.upperBound {
            run = Self.first(runs.indices) { runs[$0][runs[$0].count - 1].upperBound > range.lowerBound }
            index = Self.first(runs[run].indices) { runs[run][$0].upperBound > range.lowerBound }
            guard range.upperBound <= runs[run][index].lowerBound else { return false }
        }
        return insert(range, run, index)
    }

    /// Inserts a range into a run, before the index of the next higher range.
    private mutating func insert(_ range: Range<Int64>, _ run: Int, _ index: Int) -> Bool {
        let joinsBefore = index > 0 && runs[run][index - 1].upperBound == range.lowerBound
        let joinsNext = index < runs[run].count && runs[run][index].lowerBound == range.upperBound
        switch (joinsBefore, joinsNext) {
        case (true, true):
            runs[run][index - 1] = runs[run][index - 1].lowerBound..<runs[run][index].upperBound
            runs[run].remove(at: index)
            count -= 1
        case (true, false): runs[run][index - 1] = runs[run][index - 1].lowerBound..<range.upperBound
        case (false, true): runs[run][index] = range.lowerBound..<runs[run][index].upperBound
        case (false, false):
            guard count < Self.limit else { return false }
            count += 1
            runs[run].insert(range, at: index)
            guard runs[run].count > Self.runLimit else { return true }
            let tail = Array(runs[run][(Self.runLimit / 2)...])
            runs[run].removeSubrange((Self.runLimit / 2)...)
            runs.insert(tail, at: run + 1)
        }
        return true
    }

    /// The first index that satisfies a predicate, which then holds for all later indexes.
    private static func first(_ range: Range<Int>, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
