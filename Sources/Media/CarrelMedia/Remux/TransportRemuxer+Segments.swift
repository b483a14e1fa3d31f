// SPDX-License-Identifier: Apache-2.0

import CarrelTS

extension TransportRemuxer {
    /// Begins an independent segment: its continuity counters begin where every other segment of the same streams ends.
    ///
    /// - Parameter tables: how often the tables are written before it, modulo 16.
    package mutating func beginSegment(after tables: Int) {
        muxer.counters = ContinuityCounters(segment: tables, streams: muxer.program.streams.count)
        muxer.beginSegment(into: &packets)
    }

    /// Ends an independent segment with packets that restore the initial continuity counters.
    ///
    /// - Parameter alignsTables: whether the tables are written until their counter is at its start too.
    package mutating func endAlignedSegment(alignsTables: Bool = false) {
        muxer.endSegment(alignsCounters: true, into: &packets)
        while alignsTables, muxer.counters.tables & 15 != 0 { muxer.beginSegment(into: &packets) }
    }
}
