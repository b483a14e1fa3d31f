// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Scrambles or descrambles the payload of packets under one key (DVB-CISSA version 1, ETSI TS 103 127 §5).
///
/// AES-128-CBC over the whole blocks of each packet's payload, with the same initialization vector for every packet. The header,
/// the adaptation field and the bytes after the last whole block stay clear.
package struct PacketCipher: ~Copyable, Sendable {
    /// The change made to the packets.
    package enum Direction: Sendable, Hashable {
        case scramble, descramble
    }

    /// `scrambling_mode` of the descriptor.
    package static let mode: UInt8 = 0x10
    /// The letters "DVBTMCPTAESCISSA".
    static let iv = AESBlock(high: 0x4456_4254_4d43_5054, low: 0x4145_5343_4953_5341)

    private var cipher: AESStream

    /// Expands the key.
    ///
    /// - Parameters:
    ///   - direction: encrypt or decrypt.
    ///   - key: 16 bytes.
    /// - Throws: `keyLength`, or `refused` if there is no memory.
    package init(_ direction: Direction, key: Secret) throws(CryptoError) {
        guard key.count == 16 else { throw CryptoError(.keyLength, "a CISSA key has 16 bytes") }
        cipher = try AESStream(direction == .scramble ? .chainedEncrypt : .chainedDecrypt, key: key)
    }

    /// Changes the payload of one packet in place; the header is unchanged.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the packet.
    ///   - payload: the range of its payload. Traps if it is not within `bytes`.
    package mutating func apply(to bytes: inout MutableRawSpan, payload: Range<Int>) {
        guard payload.count >= 16 else { return }
        cipher.start(Self.iv)
        cipher.apply(to: &bytes, in: payload)
    }
}
