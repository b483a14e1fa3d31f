// SPDX-License-Identifier: Apache-2.0

/// Turns 33-bit timestamps into times that do not wrap after 26.5 hours.
struct ClockUnroller: Sendable {
    private var last: Int64?

    /// The time with these 33 bits that is nearest to the previous one.
    mutating func time(of timestamp: UInt64) -> Int64 {
        let modulus = Int64(MediaTime.modulus)
        let bits = Int64(timestamp & (MediaTime.modulus &- 1))
        guard let last else {
            self.last = bits
            return bits
        }
        // the difference modulo 2^33, between -2^32 and 2^32
        var step = (bits &- last) & (modulus &- 1)
        if step >= modulus / 2 { step &-= modulus }
        let time = last &+ step
        self.last = time
        return time
    }
}
