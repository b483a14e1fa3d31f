// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelZlib

/// The traditional encryption of ZIP archives (PKWARE APPNOTE §6.1): weak, and about.
///
/// A stream: the state at a place follows from all bytes before it.
struct TraditionalCipher: Sendable {
    private var keys: (UInt32, UInt32, UInt32) = (0x1234_5678, 0x2345_6789, 0x3456_7890)

    /// Random bytes at the beginning of an entry, the last of which reveals most wrong passwords.
    static let headLength = 12

    /// - Parameter password: the password as typed, in the encoding of the archive's creator.
    init(password: RawSpan) {
        for i in 0..<password.byteCount { update(unsafe password.unsafeLoad(fromByteOffset: i, as: UInt8.self)) }
    }

    /// Decrypts bytes in place.
    ///
    /// - Parameters:
    ///   - bytes: a buffer with the next bytes of the stream from `first`.
    ///   - first: the index of the first byte.
    mutating func decrypt(_ bytes: inout [UInt8], from first: Int) {
        for i in first..<bytes.count {
            let word = (keys.2 & 0xffff) | 2
            let plain = bytes[i] ^ UInt8(truncatingIfNeeded: (word &* (word ^ 1)) >> 8)
            bytes[i] = plain
            update(plain)
        }
    }

    private mutating func update(_ byte: UInt8) {
        keys.0 = CRC32.step(keys.0, byte)
        keys.1 = (keys.1 &+ (keys.0 & 0xff)) &* 134_775_813 &+ 1
        keys.2 = CRC32.step(keys.2, UInt8(truncatingIfNeeded: keys.1 >> 24))
    }
}
