// SPDX-License-Identifier: Apache-2.0

/// The decoding times of the pictures of one stream, in ticks of 90 kHz: each is later than the one before (ISO/IEC 13818-1 §2.7.5).
package struct DecodeClock: Sendable {
    /// Most ticks by which a time may go back and still belong to the same timeline: a second.
    private static let tolerance: Int64 = 90_000

    private var last: Int64?

    package init() {}

    /// When the next picture is decoded.
    ///
    /// - Parameter time: when its sample says; one that is more than a second earlier than the picture before begins another timeline.
    /// - Returns: that time, or the tick after the previous picture.
    package mutating func next(_ time: Int64) -> Int64 {
        var result = time
        if let last, time <= last, last &- time <= Self.tolerance { result = last &+ 1 }
        last = result
        return result
    }
}
