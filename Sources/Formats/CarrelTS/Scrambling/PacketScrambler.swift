// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

/// Scrambles the packets of some streams in runs of whole packets (DVB-CISSA version 1, ETSI TS 103 127).
package struct PacketScrambler: ~Copyable, Sendable {
    /// The key in force.
    package private(set) var parity: KeyParity
    private var cipher: PacketCipher
    private let pids: Set<UInt16>

    /// Plans the scrambling.
    ///
    /// - Parameters:
    ///   - pids: packet identifiers to scramble: streams of video and audio, never tables.
    ///   - key: 16 bytes.
    ///   - parity: the parity of the key in packets.
    /// - Throws: `keyLength`, or `refused` if memory is exhausted.
    package init(pids: Set<UInt16>, key: Secret, parity: KeyParity) throws(CryptoError) {
        cipher = try PacketCipher(.scramble, key: key)
        self.pids = pids
        self.parity = parity
    }

    /// Replaces the key by the next one, which has the other parity.
    ///
    /// - Parameter key: 16 bytes.
    /// - Throws: as `init`; the previous key is then kept.
    package mutating func rotate(to key: Secret) throws(CryptoError) {
        cipher = try PacketCipher(.scramble, key: key)
        parity = parity.next
    }

    /// Scrambles packets in place.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the packets.
    ///   - range: whole packets. Traps if it is not within `bytes`.
    /// - Throws: if a packet is truncated, has no sync byte, or is scrambled already; the packets before it are done.
    package mutating func scramble(_ bytes: inout MutableRawSpan, in range: Range<Int>) throws(Malformed) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the range lies outside the bytes")
        var at = range.lowerBound
        while at < range.upperBound {
            let packet = try TransportPacket.whole(bytes.bytes, at: at, end: range.upperBound)
            // a payload without a whole block stays clear, and its header too
            if pids.contains(packet.pid), packet.payload.count >= 16 {
                guard packet.scrambling == 0 else { throw Malformed("transport packet is scrambled already", at: at) }
                cipher.apply(to: &bytes, payload: at + packet.payload.lowerBound..<at + packet.payload.upperBound)
                bytes.setScrambling(parity.rawValue, at: at)
            }
            at += TransportStream.packetLength
        }
    }
}
