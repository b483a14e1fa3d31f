// SPDX-License-Identifier: Apache-2.0

/// Finds pieces by their resources: a sorted list, because a package may have a million pieces.
struct ResourceIndex: Sendable {
    /// A row of a table.
    struct Entry: Sendable {
        var tag: AddressTag
        /// The first byte in the resource.
        var start: Int64
        /// The byte after the last one; nil if the piece is all of the resource.
        var end: Int64?
        var table: Int32
        var row: Int32
    }

    /// A part of a piece.
    struct Part: Sendable {
        var table: Int
        var row: Int
        /// The range in the content of the piece; nil for all.
        var range: Range<Int64>?
    }

    private let entries: [Entry]

    init(_ tables: [SegmentTable]) {
        var entries: [Entry] = []
        entries.reserveCapacity(tables.reduce(0) { $0 + $1.rows.count })
        for (place, table) in tables.enumerated() {
            for (row, piece) in table.rows.enumerated() {
                guard let tag = piece.tag else { continue }
                let start = piece.range?.lowerBound ?? 0
                entries.append(Entry(tag: tag, start: start, end: piece.range?.upperBound, table: Int32(place), row: Int32(row)))
            }
        }
        entries.sort { ($0.tag, $0.start) < ($1.tag, $1.start) }
        self.entries = entries
    }

    /// The pieces of a resource, by their first bytes.
    func entries(of tag: AddressTag) -> ArraySlice<Entry> {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].tag < tag { low = middle + 1 } else { high = middle }
        }
        let end = entries[low...].prefix { $0.tag == tag }.endIndex
        return entries[low..<end]
    }

    /// The parts of pieces that cover a range of a resource.
    ///
    /// - Parameters:
    ///   - range: the requested range; nil for all, which only whole pieces and whole streams have.
    ///   - tag: the resource.
    ///   - isWhole: whether the pieces of a table are consecutive parts of whole resources.
    /// - Returns: nil if a byte is in no piece.
    func parts(_ range: Range<Int64>?, of tag: AddressTag, isWhole: (Int) -> Bool) -> [Part]? {
        let found = entries(of: tag)
        if let whole = found.first(where: { $0.end == nil }) {
            return [Part(table: Int(whole.table), row: Int(whole.row), range: range)]
        }
        let wanted: Range<Int64>
        if let range {
            wanted = range
        } else {
            guard let last = found.last, isWhole(Int(last.table)) else { return nil }
            wanted = 0..<(found.compactMap(\.end).max() ?? 0)
        }
        var parts: [Part] = []
        var position = wanted.lowerBound
        // ranges of different streams may overlap
        var rest = found[...]
        while position < wanted.upperBound {
            var best: Entry?
            while let next = rest.first, next.start <= position {
                if let end = next.end, end > position, end > best?.end ?? 0 { best = next }
                rest = rest.dropFirst()
            }
            guard let best, let end = best.end else { return nil }
            let upper = min(end, wanted.upperBound)
            parts.append(
                Part(table: Int(best.table), row: Int(best.row), range: position - best.start..<upper - best.start)
            )
            position = upper
        }
        return parts
    }
}
