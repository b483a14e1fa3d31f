// SPDX-License-Identifier: Apache-2.0

/// The decoding times of the pictures of one stream, in ticks of 90 kHz: each is later than the one before (ISO/IEC 13818-1 §2.7.5).
struct DecodeClock: Sendable {
    /// Maximum backward step within a timeline, in ticks: one second.
    private static let tolerance: Int64 = 90_000

    private var last: Int64?

    /// Returns the decode time of the next picture.
    ///
    /// - Parameter time: the decode time of its sample; if it is more than a second before the previous picture, another timeline
    ///   begins.
    /// - Returns: that time, or the tick after the previous picture.
    mutating func next(_ time: Int64) -> Int64 {
        var result = time
        if let last, time <= last, last &- time <= Self.tolerance { result = last &+ 1 }
        last = result
        return result
    }
}
