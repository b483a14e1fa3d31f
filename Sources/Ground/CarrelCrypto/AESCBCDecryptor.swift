// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// AES-128 or AES-256 in CBC mode with PKCS#7 padding, decrypting (NIST SP 800-38A §6.2, RFC 5652 §6.3).
///
/// CBC does not notice altered cipher text: padding that is right proves nothing.
package struct AESCBCDecryptor: ~Copyable, Sendable {
    private var context: CipherContext
    private var total = 0

    /// - Parameters:
    ///   - key: 16 or 32 bytes.
    ///   - iv: 16 bytes.
    /// - Throws: `keyLength`, `ivLength`, or `refused`.
    package init(key: Secret, iv: [UInt8]) throws(CryptoError) {
        context = try CipherContext(cbcKey: key, iv: iv, encrypt: false)
    }

    /// Decrypts `cipher` and appends every whole block to `out` but the last so far, which may hold the padding.
    ///
    /// Traps when `out` has less room than those blocks need; `cipher` and 15 bytes more always do.
    package mutating func update(_ cipher: RawSpan, into out: inout OutputRawSpan) throws(CryptoError) {
        let before = Self.releasedLength(total)
        total += cipher.byteCount
        guard context.update(cipher, into: &out, room: Self.releasedLength(total) - before) else {
            throw CryptoError(.refused, "the cipher failed")
        }
    }

    /// Appends the last 0 to 15 bytes without their padding. Traps when `out` has less room than 15 bytes.
    ///
    /// - Throws: `length` if the cipher text was not one or more whole blocks, `padding` when it ends in no padding.
    package consuming func finish(into out: inout OutputRawSpan) throws(CryptoError) {
        guard total > 0, total & 15 == 0 else {
            throw CryptoError(.length, "the cipher text does not end with a whole block")
        }
        guard context.finish(into: &out, room: 15) else {
            throw CryptoError(.padding, "the padding is wrong: another key, or altered cipher text")
        }
    }

    /// Bytes of plain text that are out when `n` bytes of cipher text are in.
    private static func releasedLength(_ n: Int) -> Int { n == 0 ? 0 : (n - 1) & ~15 }
}
