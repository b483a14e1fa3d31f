// SPDX-License-Identifier: Apache-2.0

/// The timeline of a title in 33-bit 90 kHz ticks, as in transport streams and packed audio segments.
public enum MediaTime {
    /// Ticks per second (ISO/IEC 13818-1 §2.4.3.7).
    public static let ticksPerSecond = 90_000
    /// The presentation time of a title's first sample: half a second, so that the clock can start at zero and still run ahead.
    public static let origin: UInt64 = 45_000
    /// Timestamps wrap at 2^33, which is 26.5 hours.
    public static let modulus: UInt64 = 1 << 33

    /// The presentation timestamp of a sample.
    ///
    /// - Parameters:
    ///   - sample: samples since the title's first; not negative.
    ///   - sampleRate: samples per second.
    /// - Returns: the nearest tick, modulo 2^33.
    @inlinable
    public static func timestamp(ofSample sample: Int64, sampleRate: Int) -> UInt64 {
        (ticks(sample, sampleRate) &+ origin) & (modulus &- 1)
    }

    /// Ticks without wrap; exact whatever the length, because whole seconds and the rest are counted apart.
    @inlinable
    static func ticks(_ sample: Int64, _ sampleRate: Int) -> UInt64 {
        precondition(sample >= 0 && sampleRate > 0, "a timeline starts at zero")
        let (seconds, remainder) = UInt64(sample).quotientAndRemainder(dividingBy: UInt64(sampleRate))
        return seconds &* 90_000 &+ (remainder &* 90_000 &+ UInt64(sampleRate) / 2) / UInt64(sampleRate)
    }

    /// A time in ticks, rounded to the nearest; exact whatever its size, because whole seconds and the rest are counted apart.
    ///
    /// - Parameters:
    ///   - time: in units of the time scale; may be negative.
    ///   - timescale: units per second; positive.
    /// - Returns: the ticks, without wrap at 33 bits; a number beyond 64 bits wraps there.
    @inlinable
    package static func ticks(_ time: Int64, timescale: Int64) -> Int64 {
        var (seconds, remainder) = time.quotientAndRemainder(dividingBy: max(1, timescale))
        // negative times are rounded in the same direction as positive ones
        if remainder < 0 { (seconds, remainder) = (seconds &- 1, remainder &+ timescale) }
        return seconds &* 90_000 &+ (remainder &* 90_000 &+ timescale / 2) / max(1, timescale)
    }
}
