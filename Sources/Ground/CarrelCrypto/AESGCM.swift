// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Bytes that are encrypted and protected from change: AES-256-GCM (NIST SP 800-38D) with nonces of 96 bits and tags of 128.
package enum AESGCM {
    /// Bytes of a key, a nonce and a tag.
    package static let keyByteCount = 32
    package static let nonceByteCount = 12
    package static let tagByteCount = 16

    /// Encrypts `plaintext`.
    ///
    /// - Parameters:
    ///   - plaintext: the bytes to encrypt.
    ///   - key: 32 bytes.
    ///   - nonce: 12 bytes, never used twice with a key.
    ///   - associated: protected from change, and not encrypted.
    /// - Returns: as many bytes as `plaintext` has, followed by the tag.
    /// - Throws: `crypto.key-length`, `crypto.iv-length`, `crypto.refused`.
    package static func seal(
        _ plaintext: RawSpan,
        key: Secret,
        nonce: [UInt8],
        associated: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        var context = try Self.context(key, nonce, encrypt: true)
        let count = plaintext.byteCount
        var isDone = false
        let sealed = unsafe [UInt8](unsafeUninitializedCapacity: count + tagByteCount) { buffer, filled in
            guard let start = buffer.baseAddress, context.associate(associated) else { return }
            isDone = unsafe context.transform(plaintext, into: start) == count && context.makeTag(into: start + count)
            filled = isDone ? count + tagByteCount : 0
        }
        guard isDone else { throw CryptoError(.refused, "the cipher failed") }
        return sealed
    }

    /// Decrypts the result of `seal`.
    ///
    /// - Parameters:
    ///   - sealed: the ciphertext, followed by the tag.
    ///   - key: 32 bytes.
    ///   - nonce: the 12 bytes used for sealing.
    ///   - associated: the bytes used for sealing.
    /// - Returns: the content.
    /// - Throws: `crypto.integrity` for another key, nonce or associated bytes, and for altered bytes; `crypto.length`.
    package static func open(
        _ sealed: RawSpan,
        key: Secret,
        nonce: [UInt8],
        associated: [UInt8] = []
    ) throws(CryptoError) -> Secret {
        guard sealed.byteCount >= tagByteCount else { throw CryptoError(.length, "sealed bytes have a tag of 16 bytes") }
        var context = try context(key, nonce, encrypt: false)
        let count = sealed.byteCount - tagByteCount
        let plaintext = unsafe Secret(count: count) { start in
            guard context.associate(associated), unsafe context.transform(sealed.extracting(first: count), into: start) == count
            else { return false }
            return context.hasTag(sealed.extracting(last: tagByteCount))
        }
        guard let plaintext else { throw CryptoError(.integrity, "the bytes are not what was sealed under this key") }
        return plaintext
    }

    /// Decrypts the result of `seal` into an array, for content that need not be wiped.
    ///
    /// - Parameters:
    ///   - sealed: the ciphertext, followed by the tag.
    ///   - key: 32 bytes.
    ///   - nonce: the 12 bytes used for sealing.
    ///   - associated: the bytes used for sealing.
    /// - Returns: the content.
    /// - Throws: `crypto.integrity` for another key, nonce or associated bytes, and for altered bytes; `crypto.length`.
    package static func openBytes(
        _ sealed: RawSpan,
        key: Secret,
        nonce: [UInt8],
        associated: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        guard sealed.byteCount >= tagByteCount else { throw CryptoError(.length, "sealed bytes have a tag of 16 bytes") }
        var context = try context(key, nonce, encrypt: false)
        let count = sealed.byteCount - tagByteCount
        var isRight = false
        let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: max(1, count)) { buffer, filled in
            guard let start = buffer.baseAddress, context.associate(associated),
                unsafe context.transform(sealed.extracting(first: count), into: start) == count
            else { return }
            isRight = context.hasTag(sealed.extracting(last: tagByteCount))
            filled = isRight ? count : 0
        }
        guard isRight else { throw CryptoError(.integrity, "the bytes are not what was sealed under this key") }
        return plaintext
    }

    private static func context(_ key: Secret, _ nonce: [UInt8], encrypt: Bool) throws(CryptoError) -> CipherContext {
        guard key.count == keyByteCount else { throw CryptoError(.keyLength, "a key of AES-256-GCM has 32 bytes") }
        guard nonce.count == nonceByteCount else { throw CryptoError(.ivLength, "a nonce of AES-256-GCM has 12 bytes") }
        return try unsafe CipherContext(OpenSSL.shared.aes256GCM, key: key, iv: nonce, encrypt: encrypt)
    }
}

extension CipherContext {
    /// Adds bytes that are authenticated only.
    fileprivate mutating func associate(_ bytes: [UInt8]) -> Bool {
        if bytes.isEmpty { return true }
        return unsafe transform(bytes.rawSpan, into: nil) == bytes.count
    }

    /// Ends an encryption and writes its tag of 16 bytes.
    mutating func makeTag(into target: UnsafeMutablePointer<UInt8>) -> Bool {
        var none: UInt8 = 0
        var writtenCount: CInt = 0
        return unsafe EVP_CipherFinal_ex(context, &none, &writtenCount) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(AESGCM.tagByteCount), target) == 1
    }

    /// Ends a decryption: whether the tag is right.
    fileprivate mutating func hasTag(_ tag: RawSpan) -> Bool {
        defer { ERR_clear_error() }
        return unsafe tag.withUnsafeBytes { tag in
            var none: UInt8 = 0
            var writtenCount: CInt = 0
            let start = unsafe UnsafeMutableRawPointer(mutating: tag.baseAddress)
            return unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), start) == 1
                && EVP_CipherFinal_ex(context, &none, &writtenCount) == 1
        }
    }
}
