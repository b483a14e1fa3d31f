// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Encrypts digests of passphrases in the store: AES-256-GCM under a key that a vault seals.
///
/// The nonce is a MAC of the digest, so that equal digests have equal values and can be looked up. Digests are few and look
/// random: the file reveals only which are equal.
struct DigestSeal: Sendable {
    private let key: Secret
    private let nonces: HMACSHA256
    private static let context = Array("carrel lcp passphrase 1".utf8)

    /// The sizes of a digest and of a sealed digest in bytes.
    static let digestByteCount = 32
    static let sealedByteCount = AESGCM.nonceByteCount + digestByteCount + AESGCM.tagByteCount

    /// - Parameter key: 32 bytes.
    init(key: Secret) {
        self.key = HKDF.sha256(secret: key, salt: [], info: "carrel lcp digests", count: AESGCM.keyByteCount)
        nonces = HMACSHA256(key: HKDF.sha256(secret: key, salt: [], info: "carrel lcp nonces", count: 32))
    }

    func seal(_ digest: Secret) -> [UInt8] {
        digest.withBytes { bytes in
            let nonce = Array(nonces.authenticate(bytes).prefix(AESGCM.nonceByteCount))
            guard let sealed = try? AESGCM.seal(bytes, key: key, nonce: nonce, associated: Self.context) else {
                fatalError("OpenSSL has no AES-256-GCM")
            }
            return nonce + sealed
        }
    }

    /// The digest; nil for other bytes.
    func open(_ sealed: [UInt8]) -> Secret? {
        guard sealed.count == Self.sealedByteCount else { return nil }
        let body = sealed.rawSpan.extracting(AESGCM.nonceByteCount..<sealed.count)
        let nonce = Array(sealed.prefix(AESGCM.nonceByteCount))
        return try? AESGCM.open(body, key: key, nonce: nonce, associated: Self.context)
    }
}
