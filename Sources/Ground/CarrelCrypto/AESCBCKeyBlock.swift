// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A key of 16 bytes as one block of AES-256 in CBC mode without padding, as license messages carry content keys.
///
/// Nothing proves that a block was not altered: the message around it must be authenticated.
package enum AESCBCKeyBlock {
    /// Bytes of a key, and of the block.
    package static let byteCount = 16

    /// Encrypts a key.
    ///
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - wrapper: 32 bytes.
    ///   - iv: 16 bytes; different for each key under one wrapper.
    /// - Returns: 16 bytes.
    /// - Throws: `crypto.length`, `crypto.key-length`, `crypto.iv-length`, `crypto.refused`.
    package static func encrypt(_ key: Secret, under wrapper: Secret, iv: [UInt8]) throws(CryptoError) -> [UInt8] {
        var context = try context(wrapper, iv, encrypt: true)
        return try block(of: key.withBytes { bytes throws(CryptoError) in try transform(bytes, &context) })
    }

    /// Decrypts a key.
    ///
    /// - Parameters:
    ///   - block: 16 bytes.
    ///   - wrapper: 32 bytes.
    ///   - iv: the 16 bytes used for encryption.
    /// - Returns: 16 bytes; different bytes under another wrapper.
    /// - Throws: `crypto.length`, `crypto.key-length`, `crypto.iv-length`, `crypto.refused`.
    package static func decrypt(_ block: RawSpan, under wrapper: Secret, iv: [UInt8]) throws(CryptoError) -> Secret {
        var context = try context(wrapper, iv, encrypt: false)
        return try transform(block, &context)
    }

    private static func block(of secret: Secret) -> [UInt8] { secret.withBytes { [UInt8](copying: $0) } }

    private static func transform(_ input: RawSpan, _ context: inout CipherContext) throws(CryptoError) -> Secret {
        guard input.byteCount == byteCount else { throw CryptoError(.length, "a key block has 16 bytes") }
        let output = unsafe Secret(count: byteCount) { unsafe context.transform(input, into: $0) == byteCount }
        guard let output else { throw CryptoError(.refused, "the cipher failed") }
        return output
    }

    private static func context(_ wrapper: Secret, _ iv: [UInt8], encrypt: Bool) throws(CryptoError) -> CipherContext {
        guard wrapper.count == 32 else { throw CryptoError(.keyLength, "an AES-256 key has 32 bytes") }
        var context = try CipherContext(cbcKey: wrapper, iv: iv, encrypt: encrypt)
        context.leavePadding()
        return context
    }
}
