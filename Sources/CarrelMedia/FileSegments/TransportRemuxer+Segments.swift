import CarrelTS

extension TransportRemuxer {
    /// Begins a segment that is written alone: its counters begin where every other segment of the same streams ends.
    ///
    /// - Parameter tables: how often the tables are written before it, where that is known: players do not mind another counter of theirs.
    mutating func beginSegment(behind tables: Int) {
        muxer.counters = ContinuityCounters(segment: tables, streams: muxer.program.streams.count)
        muxer.beginSegment(into: &packets)
    }

    /// Ends a segment that is written alone: packets that bring the counters to their start end it.
    mutating func endAlignedSegment() {
        muxer.endSegment(alignsCounters: true, into: &packets)
    }
}
