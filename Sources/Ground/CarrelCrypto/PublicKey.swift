// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// A key that checks signatures: RSA, or ECDSA on P-256.
@safe
package final class PublicKey: @unchecked Sendable {  // the key never changes after `init`
    /// The one algorithm that the key is for.
    package let algorithm: SignatureAlgorithm
    let key: OpaquePointer

    /// Takes ownership of a key, and frees it also if it throws.
    init(owning key: OpaquePointer) throws(CryptoError) {
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA where 2048...8192 ~= (unsafe EVP_PKEY_get_bits(key)): algorithm = .rs256
        case EVP_PKEY_EC where unsafe Self.isP256(key): algorithm = .es256
        default:
            unsafe EVP_PKEY_free(key)
            throw CryptoError(.key, "the key is neither RSA of 2048 to 8192 bits nor on the curve P-256")
        }
        unsafe self.key = key
    }

    /// An RSA key from its modulus and public exponent, big-endian (RFC 8017 §3.1).
    ///
    /// - Throws: `crypto.key` for a key that is too short, too long, or none.
    package static func rsa(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) -> PublicKey {
        guard modulus.count <= 1025, 1...8 ~= exponent.count, let last = exponent.last, last & 1 == 1, exponent != [1] else {
            throw CryptoError(.key, "the RSA key has a modulus or an exponent that none can have")
        }
        let identifier: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]  // rsaEncryption
        let numbers = DER.sequence(DER.integer(modulus), DER.integer(exponent))
        return try PublicKey(subjectPublicKeyInfo: DER.sequence(DER.sequence(identifier, DER.value(0x05, [])), DER.bits(numbers)))
    }

    /// A key on P-256 from the coordinates of its point, 32 bytes each (SEC 1 §2.3.4).
    ///
    /// - Throws: `crypto.key` for a point that is not on the curve.
    package static func p256(x: [UInt8], y: [UInt8]) throws(CryptoError) -> PublicKey {
        guard x.count == 32, y.count == 32 else { throw CryptoError(.key, "a coordinate of P-256 has 32 bytes") }
        return try PublicKey(p256Point: [0x04] + x + y)
    }

    /// A key from an uncompressed point; the decoder of `SubjectPublicKeyInfo` takes twenty times as long.
    ///
    /// - Throws: `crypto.key` for a point that is not on the curve.
    private init(p256Point point: [UInt8]) throws(CryptoError) {
        let key = unsafe OpenSSL.present(EVP_PKEY_new())
        guard unsafe EVP_PKEY_copy_parameters(key, OpenSSL.shared.p256) == 1,
            unsafe EVP_PKEY_set1_encoded_public_key(key, point, point.count) == 1
        else {
            unsafe EVP_PKEY_free(key)
            ERR_clear_error()
            throw CryptoError(.key, "the point is not on the curve P-256")
        }
        algorithm = .es256
        unsafe self.key = key
    }

    /// A key from a `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7).
    ///
    /// - Throws: `crypto.key` for anything but one such key.
    package convenience init(subjectPublicKeyInfo bytes: [UInt8]) throws(CryptoError) {
        _ = OpenSSL.shared
        var used = 0
        let key = unsafe bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            let key = unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
            if let start = buffer.baseAddress, let end = unsafe cursor { used = unsafe end - start }
            return unsafe key
        }
        guard let key = unsafe key, used == bytes.count else {
            unsafe EVP_PKEY_free(key)
            ERR_clear_error()
            throw CryptoError(.key, "the key cannot be read")
        }
        try unsafe self.init(owning: key)
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Whether `signature` was made over `message` with the private half of this key.
    ///
    /// - Parameters:
    ///   - signature: for RSA of the length of the modulus; for P-256 the 64 bytes of R and S (RFC 7518 §3.4), for
    ///     ``isValid(derSignature:for:)`` their DER encoding.
    ///   - message: the whole message.
    /// - Returns: false for every other signature of any length.
    package func isValid(_ signature: [UInt8], for message: RawSpan) -> Bool {
        switch algorithm {
        case .rs256: return verify(signature, message)
        case .es256:
            guard signature.count == 64 else { return false }
            return verify(DER.sequence(DER.integer(signature[..<32]), DER.integer(signature[32...])), message)
        }
    }

    /// Whether a signature in the form of X.509 and CMS, where ECDSA's is DER, was made over `message` with this key's private half.
    package func isValid(derSignature signature: [UInt8], for message: RawSpan) -> Bool {
        verify(signature, message)
    }

    private func verify(_ signature: [UInt8], _ message: RawSpan) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1 else { return false }
        return unsafe message.withUnsafeBytes { message in
            var empty: UInt8 = 0
            guard let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return unsafe EVP_DigestVerify(context, signature, signature.count, &empty, 0) == 1
            }
            return unsafe EVP_DigestVerify(context, signature, signature.count, start, message.count) == 1
        }
    }

    private static func isP256(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 32)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return false }
        return name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar($0) })
    }
}
