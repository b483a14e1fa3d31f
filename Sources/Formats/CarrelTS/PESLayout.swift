// SPDX-License-Identifier: Apache-2.0

/// How the bytes of one PES packet spread over transport packets.
@usableFromInline
enum PESLayout {
    /// Clock references per second, at least (ISO/IEC 13818-1 §2.7.2).
    static let clocksPerSecond = 10

    /// Clock references that this many samples need so that none is more than 100 ms from the next.
    static func clockCount(samples: Int, sampleRate: Int) -> Int {
        (samples * clocksPerSecond + sampleRate - 1) / sampleRate
    }

    /// Transport packets for this much data: enough for the bytes, and at least one for each clock reference.
    @inlinable
    static func packetCount(dataLength: Int, clockCount: Int) -> Int {
        let bytes = pesHeaderLength &+ dataLength &+ clockCount &* clockFieldLength
        let packets = Int(UInt32(truncatingIfNeeded: bytes &+ packetCapacity &- 1) / UInt32(packetCapacity))
        return max(packets, clockCount)
    }

    /// Bytes of a PES header that carries a presentation timestamp and nothing else optional (§2.4.3.6).
    @usableFromInline
    static let pesHeaderLength = 14
    /// Bytes of an adaptation field that carries a clock reference and nothing else (§2.4.3.4).
    @usableFromInline
    static let clockFieldLength = 8
    /// Bytes a transport packet holds after its header.
    @usableFromInline
    static let packetCapacity = 184
}
