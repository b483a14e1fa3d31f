/// The media sequence numbers of a live playlist, kept over reloads of its source (RFC 8216 §6.2.2).
///
/// It remembers the last list alone: the work of a reload does not grow with the history.
struct SegmentSequence: Sendable {
    private var last: [Key] = []
    private var mediaSequence: UInt64 = 0
    private var discontinuitySequence: UInt64 = 0
    private var target: UInt64 = 0

    /// The identity of a segment over reloads.
    private struct Key: Sendable, Equatable {
        var period: Int64
        var time: Int64
        var isDiscontinuity: Bool

        func isBefore(_ other: Key) -> Bool { (period, time) < (other.period, other.time) }
    }

    /// Numbers a list, and leaves out what was gone before.
    mutating func update(_ list: inout SegmentList) {
        var keys = list.segments.map { Key(period: $0.name.period, time: $0.name.time, isDiscontinuity: $0.isDiscontinuity) }
        if let oldest = last.first {
            // segments that were removed do not come again
            let again = keys.firstIndex { !$0.isBefore(oldest) } ?? keys.count
            keys.removeFirst(again)
            list.segments.removeFirst(again)
            let gone =
                keys.first.map { first in
                    var (low, high) = (0, last.count)
                    while low < high {
                        let middle = (low + high) / 2
                        if last[middle].isBefore(first) { low = middle + 1 } else { high = middle }
                    }
                    return low
                } ?? last.count
            mediaSequence += UInt64(gone)
            discontinuitySequence += UInt64(last[..<gone].count(where: \.isDiscontinuity))
            // the first one stays a discontinuity as long as it is listed
            if gone < last.count, let first = keys.indices.first {
                keys[first].isDiscontinuity = last[gone].isDiscontinuity
                list.segments[first].isDiscontinuity = last[gone].isDiscontinuity
            }
        }
        last = keys
        // the target duration of a playlist may not change (§4.3.3.1)
        target = max(target, list.leastTarget)
        list.leastTarget = target
        list.mediaSequence = mediaSequence
        list.discontinuitySequence = discontinuitySequence
    }
}
