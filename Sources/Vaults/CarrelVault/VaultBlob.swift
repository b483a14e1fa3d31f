// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Bytes sealed under a key that only a vault has: version, salt, nonce, encrypted bytes, tag.
///
/// Each blob has its own key (HKDF-SHA-256 with a random salt), so that the number of blobs does not exhaust the vault's key.
package enum VaultBlob {
    /// Bytes of a plaintext at most: 16 MiB.
    package static let byteLimit = 16 << 20

    private static let version: UInt8 = 1
    private static let saltByteCount = 16
    private static let headByteCount = 1 + saltByteCount + AESGCM.nonceByteCount

    /// Seals bytes.
    ///
    /// - Parameters:
    ///   - plaintext: any number of bytes.
    ///   - key: 32 bytes.
    ///   - context: identifies the bytes (``context(_:_:)``); it is authenticated.
    /// - Returns: 45 bytes more than the plaintext.
    package static func seal(_ plaintext: Secret, key: Secret, context: [UInt8]) -> [UInt8] {
        let head = [version] + Random.bytes(saltByteCount + AESGCM.nonceByteCount)
        let sealed = plaintext.withBytes { plaintext in
            try? AESGCM.seal(plaintext, key: self.key(key, head), nonce: nonce(head), associated: context)
        }
        guard let sealed else { fatalError("OpenSSL has no AES-256-GCM") }
        return head + sealed
    }

    /// Opens the output of ``seal(_:key:context:)``.
    ///
    /// - Throws: `vault.damaged`.
    package static func open(_ sealed: [UInt8], key: Secret, context: [UInt8]) throws(VaultError) -> Secret {
        guard sealed.count >= headByteCount + AESGCM.tagByteCount, sealed[0] == version else { throw .sealedBytes }
        let head = Array(sealed[..<headByteCount])
        do {
            let body = sealed.rawSpan.extracting(headByteCount..<sealed.count)
            return try AESGCM.open(body, key: self.key(key, head), nonce: nonce(head), associated: context)
        } catch {
            throw .sealedBytes
        }
    }

    /// Bytes that identify the sealed data: a purpose and its parts, each with its length before it, so that they are
    /// unambiguous.
    package static func context(_ purpose: String, _ parts: [UInt8]...) -> [UInt8] {
        var context: [UInt8] = []
        for part in [Array(purpose.utf8)] + parts {
            context.append(bigEndian: UInt32(part.count))
            context += part
        }
        return context
    }

    private static func key(_ key: Secret, _ head: [UInt8]) -> Secret {
        HKDF.sha256(secret: key, salt: Array(head[1...saltByteCount]), info: "carrel vault 1 blob", count: AESGCM.keyByteCount)
    }

    private static func nonce(_ head: [UInt8]) -> [UInt8] { Array(head.suffix(AESGCM.nonceByteCount)) }
}
