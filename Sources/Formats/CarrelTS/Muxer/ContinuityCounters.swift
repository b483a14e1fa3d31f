// SPDX-License-Identifier: Apache-2.0

/// The continuity counters of the next packets of a multiplex (ISO/IEC 13818-1 §2.4.3.3).
package struct ContinuityCounters: Sendable, Hashable {
    /// The counter of the program association and the map, which each fill one packet in every segment.
    package var tables: UInt8
    /// The counters of the streams.
    package var streams: [UInt8]

    /// The counters at the start of a segment when every segment before it ended with aligned counters.
    ///
    /// - Parameters:
    ///   - segment: the number of the segment, from zero.
    ///   - streams: the number of streams.
    package init(segment: Int, streams: Int) {
        tables = UInt8(truncatingIfNeeded: segment & 15)
        self.streams = [UInt8](repeating: 0, count: streams)
    }
}
