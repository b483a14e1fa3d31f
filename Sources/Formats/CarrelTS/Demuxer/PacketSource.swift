// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The packets of one packet identifier: the destination of their payload, and the expected continuity counter.
struct PacketSource: Sendable {
    /// The reader of the payload.
    enum Content: Sendable, Equatable {
        case association, map, sections(Int), elementary(Int), clock
    }

    /// How a packet continues those before it (ISO/IEC 13818-1 §2.4.3.3).
    enum Continuity {
        case next
        /// The packet before, sent again.
        case repeated
        /// Packets are missing; announced if the packet itself signals the discontinuity.
        case gap(isAnnounced: Bool)
    }

    let pid: UInt16
    let content: Content
    /// The scrambling control of the last packet.
    var scrambling: UInt8 = 0
    private var counter: UInt8?
    /// A checksum of the last payload, which distinguishes a repeated packet from one with an unexpected counter.
    private var sum: UInt64 = 0
    private var hasRepeated = false

    init(pid: UInt16, content: Content) {
        self.pid = pid
        self.content = content
    }

    /// Compares a packet with payload to the previous one.
    mutating func follow(_ packet: TransportPacket, _ payload: RawSpan) -> Continuity {
        let sum = Self.sum(payload)
        defer { (counter, self.sum) = (packet.counter, sum) }
        guard let counter else { return .next }
        if packet.counter == counter, sum == self.sum, !hasRepeated {
            hasRepeated = true
            return .repeated
        }
        hasRepeated = false
        return packet.counter == (counter + 1) & 15 ? .next : .gap(isAnnounced: packet.isDiscontinuous)
    }

    /// Lets the next packet have any counter.
    mutating func forgetCounter() {
        counter = nil
    }

    /// Continues the packets that another reader has followed so far.
    mutating func goOn(from other: PacketSource) {
        (counter, sum, hasRepeated, scrambling) = (other.counter, other.sum, other.hasRepeated, other.scrambling)
    }

    private static func sum(_ payload: RawSpan) -> UInt64 {
        var sum: UInt64 = 0
        var at = 0
        while payload.byteCount - at >= 8 {
            sum = (sum << 5 | sum >> 59) &+ payload.u64(at: at)
            at += 8
        }
        while at < payload.byteCount {
            sum = (sum << 5 | sum >> 59) &+ UInt64(payload.u8(at: at))
            at += 1
        }
        return sum
    }
}
