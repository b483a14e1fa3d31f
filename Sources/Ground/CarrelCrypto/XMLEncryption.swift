// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Short values that are encrypted as XML Encryption does (XML Encryption 1.1 §5.2): the initialization vector, then AES-256 in CBC
/// mode with padding of which only the last byte counts.
package enum XMLEncryption {
    /// The plain text of a short value, such as a key.
    ///
    /// CBC does not notice altered cipher text: a padding that is right proves nothing.
    /// - Parameters:
    ///   - bytes: 16 bytes of initialization vector, then whole blocks.
    ///   - key: 32 bytes.
    /// - Returns: the plain text without its padding of 1 to 16 bytes, whose other bytes are arbitrary.
    /// - Throws: `crypto.length`, `crypto.padding`, `crypto.key-length`.
    package static func decrypt(_ bytes: [UInt8], key: Secret) throws(CryptoError) -> Secret {
        guard key.count == 32 else { throw CryptoError(.keyLength, "the key has 32 bytes") }
        guard bytes.count >= 32, bytes.count % 16 == 0, bytes.count <= 65_536 else {
            throw CryptoError(.length, "the cipher text is not an initialization vector and whole blocks")
        }
        var context = try CipherContext(cbcKey: key, iv: Array(bytes.prefix(16)), encrypt: false)
        context.leavePadding()
        let cipher = Array(bytes.dropFirst(16))
        let padded = unsafe Secret(count: cipher.count) { room in
            unsafe context.transform(cipher.rawSpan, into: room) == cipher.count
        }
        guard let padded else { throw CryptoError(.refused, "the cipher failed") }
        return try padded.withBytes { bytes throws(CryptoError) in
            let count = Int(unsafe bytes.unsafeLoad(fromByteOffset: bytes.byteCount - 1, as: UInt8.self))
            guard 1...16 ~= count else {
                throw CryptoError(.padding, "the padding is wrong: another key, or altered cipher text")
            }
            return Secret(copying: bytes.extracting(first: bytes.byteCount - count))
        }
    }

    /// Encrypts a short value, such as a key, with padding that repeats its length (RFC 5652 §6.3).
    ///
    /// - Parameters:
    ///   - value: the plain text, at most 65,535 bytes.
    ///   - key: 32 bytes.
    ///   - iv: 16 bytes, random for each value.
    /// - Returns: the initialization vector, then whole blocks.
    /// - Throws: `crypto.key-length`, `crypto.iv-length`, `crypto.length`.
    package static func encrypt(_ value: Secret, key: Secret, iv: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard key.count == 32 else { throw CryptoError(.keyLength, "the key has 32 bytes") }
        guard value.count < 65_536 else { throw CryptoError(.length, "the value is too long") }
        let padding = 16 - value.count % 16
        let padded = Secret.joined([value, Secret([UInt8](repeating: UInt8(padding), count: padding))])
        var context = try CipherContext(cbcKey: key, iv: iv, encrypt: true)
        context.leavePadding()
        let cipher = padded.withBytes { padded in
            unsafe [UInt8](unsafeUninitializedCapacity: padded.byteCount) { out, filled in
                filled = unsafe context.transform(padded, into: out.baseAddress) ?? 0
            }
        }
        guard cipher.count == padded.count else { throw CryptoError(.refused, "the cipher failed") }
        return iv + cipher
    }
}
