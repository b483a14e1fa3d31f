// SPDX-License-Identifier: Apache-2.0

/// The media sequence numbers of a live playlist, kept over reloads of its source (RFC 8216 §6.2.2).
///
/// It remembers the last list and the segment in front of it alone: the work of a reload does not grow with the history.
struct SegmentSequence: Sendable {
    private var last: [Key] = []
    /// The newest segment that was removed.
    private var removed: Key?
    private var mediaSequence: UInt64 = 0
    private var discontinuitySequence: UInt64 = 0
    private var target: UInt64 = 0

    /// The identity of a segment over reloads, and in all representations of a set: units and rounding differ between these.
    private struct Key: Sendable {
        var period: Int64
        var start: Duration
        var duration: Duration
        var isDiscontinuity: Bool

        var end: Duration { start + duration }
        private var middle: Duration { start + duration / 2 }

        /// Whether another segment begins in the second half of this one, or later.
        func isBefore(_ other: Key) -> Bool {
            period == other.period ? middle <= other.start && start < other.start : period < other.period
        }

        /// Whether this period continues another.
        func continues(_ other: Key) -> Bool {
            guard period == other.period else { return false }
            let distance = start > other.end ? start - other.end : other.end - start
            return distance <= duration / 2
        }
    }

    /// If times decrease by more than this, the source has set its clock: no cache keeps a list for that long.
    private static let longestReturn = Duration.seconds(30)

    init() {}

    /// Numbers another list of the same source: all renditions have the same discontinuity numbers (RFC 8216 §6.2.4).
    ///
    /// - Parameters:
    ///   - other: the numbers of the other list.
    ///   - list: the first list with these numbers.
    init(beside other: SegmentSequence, _ list: SegmentList) {
        guard let period = list.segments.first?.name.period else { return }
        let known = other.last.lastIndex { $0.period <= period }.map { other.last[...$0] } ?? []
        discontinuitySequence = other.discontinuitySequence + UInt64(known.count(where: \.isDiscontinuity))
    }

    /// Numbers a list, and removes segments that had expired before.
    mutating func update(_ list: inout SegmentList) {
        if hasReturned(list) { return restart(&list) }
        leaveOutRemoved(&list)
        var keys = list.segments.map {
            Key(period: $0.name.period, start: $0.start, duration: $0.duration, isDiscontinuity: $0.isDiscontinuity)
        }
        let gone = keys.first.map { Self.place(of: $0, in: last) } ?? last.count
        if gone > 0 {
            mediaSequence += UInt64(gone)
            discontinuitySequence += UInt64(last[..<gone].count(where: \.isDiscontinuity))
            removed = last[gone - 1]
        }
        if let first = keys.first {
            // a discontinuity lasts as long as its segment is listed; a removed segment causes another
            let isDiscontinuity =
                gone < last.count ? last[gone].isDiscontinuity : removed.map { !first.continues($0) } ?? first.isDiscontinuity
            keys[0].isDiscontinuity = isDiscontinuity
            list.segments[0].isDiscontinuity = isDiscontinuity
            // the player may lack the state of the preceding segments
            list.segments[0].hasInitialization = true
        }
        last = keys
        // the target duration of a playlist may not change (§4.3.3.1)
        target = max(target, list.leastTarget)
        list.leastTarget = target
        list.mediaSequence = mediaSequence
        list.discontinuitySequence = discontinuitySequence
    }

    /// Whether a list ends long before the known one begins.
    private func hasReturned(_ list: SegmentList) -> Bool {
        guard let oldest = last.first ?? removed, let newest = list.segments.last, newest.name.period <= oldest.period else {
            return false
        }
        return newest.start + newest.duration + Self.longestReturn < oldest.start
    }

    /// Goes on with a list of earlier times, as with a new period.
    private mutating func restart(_ list: inout SegmentList) {
        mediaSequence += UInt64(last.count)
        discontinuitySequence += UInt64(last.count(where: \.isDiscontinuity))
        last = []
        removed = nil
        list.segments[0].isDiscontinuity = true
        update(&list)
    }

    /// Segments that were removed do not come again.
    private func leaveOutRemoved(_ list: inout SegmentList) {
        guard let oldest = last.first ?? removed else { return }
        let isOldestListed = !last.isEmpty
        let first = list.segments.firstIndex { segment in
            let key = Key(period: segment.name.period, start: segment.start, duration: segment.duration, isDiscontinuity: false)
            return isOldestListed ? !key.isBefore(oldest) : oldest.isBefore(key)
        }
        list.segments.removeFirst(first ?? list.segments.count)
    }

    /// The place of the first one of a list that is not before a segment.
    private static func place(of first: Key, in list: [Key]) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].isBefore(first) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
