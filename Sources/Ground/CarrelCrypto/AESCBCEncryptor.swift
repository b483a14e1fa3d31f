// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// AES-128 or AES-256 in CBC mode with PKCS#7 padding (NIST SP 800-38A §6.2, RFC 5652 §6.3), as HLS encrypts segments
/// (RFC 8216 §4.3.2.4). Plain text goes in as it comes; cipher text comes out in whole blocks.
package struct AESCBCEncryptor: ~Copyable, Sendable {
    private var context: CipherContext
    private var pendingCount = 0  // bytes of an unfinished block, 0...15

    /// - Parameters:
    ///   - key: 16 or 32 bytes.
    ///   - iv: 16 bytes.
    /// - Throws: `keyLength`, `ivLength`, or `refused`.
    package init(key: Secret, iv: [UInt8]) throws(CryptoError) {
        context = try CipherContext(cbcKey: key, iv: iv, encrypt: true)
    }

    /// Encrypts `plain` and appends every block that is whole to `out`.
    ///
    /// Traps when `out` has less room than those blocks need; a multiple of 16 that is not less than `plain` and 15 bytes
    /// more always does.
    package mutating func update(_ plain: RawSpan, into out: inout OutputRawSpan) throws(CryptoError) {
        let total = pendingCount + plain.byteCount
        pendingCount = total & 15
        guard context.update(plain, into: &out, room: total & ~15) else {
            throw CryptoError(.refused, "the cipher failed")
        }
    }

    /// Appends the last block, padded. Traps when `out` has less room than 16 bytes.
    package consuming func finish(into out: inout OutputRawSpan) throws(CryptoError) {
        guard context.finish(into: &out, room: 16) else { throw CryptoError(.refused, "the cipher failed") }
    }

    /// Bytes of cipher text that `n` bytes of plain text give.
    package static func cipherLength(ofPlainLength n: Int) -> Int { (n / 16 + 1) * 16 }
}

extension CipherContext {
    /// AES-CBC by the length of its key.
    package init(cbcKey key: Secret, iv: [UInt8], encrypt: Bool) throws(CryptoError) {
        guard key.count == 16 || key.count == 32 else { throw CryptoError(.keyLength, "an AES-CBC key has 16 or 32 bytes") }
        guard iv.count == 16 else { throw CryptoError(.ivLength, "an AES-CBC initialization vector has 16 bytes") }
        let openSSL = OpenSSL.shared
        try unsafe self.init(key.count == 16 ? openSSL.aes128CBC : openSSL.aes256CBC, key: key, iv: iv, encrypt: encrypt)
    }
}
