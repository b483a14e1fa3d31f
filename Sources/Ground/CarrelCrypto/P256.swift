// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Keys on the curve P-256 (FIPS 186-5; SEC 2 §2.4.2), for signatures with SHA-256 and for key agreement.
///
/// It is the one curve that TPMs, PKCS#11 tokens, secure enclaves and browsers all have, so the keys of devices are on it.
package enum P256 {
    /// Bytes of a coordinate, of a scalar and of a shared secret.
    package static let byteCount = 32

    /// The public half: a point of the curve.
    package struct PublicKey: Sendable, Hashable {
        /// X and Y, 32 bytes each, big-endian.
        package let coordinates: [UInt8]
        let key: CarrelCrypto.PublicKey

        /// - Parameters:
        ///   - x: 32 bytes.
        ///   - y: 32 bytes.
        /// - Throws: `crypto.key` for a point that is not on the curve.
        package init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
            key = try CarrelCrypto.PublicKey.p256(x: x, y: y)
            coordinates = x + y
        }

        /// Reads a `SubjectPublicKeyInfo` (RFC 5480 §2) with an uncompressed point.
        ///
        /// - Throws: `crypto.key` for every other key.
        package init(subjectPublicKeyInfo bytes: [UInt8]) throws(CryptoError) {
            guard bytes.count == Self.infoHead.count + 2 * byteCount, bytes.starts(with: Self.infoHead) else {
                throw CryptoError(.key, "the key is not an uncompressed point of the curve P-256")
            }
            try self.init(x: Array(bytes.dropLast(byteCount).suffix(byteCount)), y: Array(bytes.suffix(byteCount)))
        }

        /// The key in DER (RFC 5480 §2), 91 bytes.
        package var subjectPublicKeyInfo: [UInt8] {
            Self.infoHead + coordinates
        }

        /// The bytes of a `SubjectPublicKeyInfo` in DER before the coordinates; such a key has no other form.
        private static let infoHead = Array(
            DER.sequence(
                DER.sequence(DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7")),
                DER.bits([0x04] + [UInt8](repeating: 0, count: 2 * byteCount))
            ).dropLast(2 * byteCount)
        )

        /// Whether a signature of 64 bytes, R and S (RFC 7518 §3.4), was made over `message` with the private half.
        package func isValid(_ signature: [UInt8], for message: RawSpan) -> Bool { key.isValid(signature, for: message) }

        package static func == (a: Self, b: Self) -> Bool { a.coordinates == b.coordinates }

        package func hash(into hasher: inout Hasher) { hasher.combine(coordinates) }
    }

    /// A private key in memory. Where a device has a vault that keeps it, the key is there instead.
    @safe
    package final class PrivateKey: @unchecked Sendable {  // the key never changes after `init`
        /// The public half.
        package let publicKey: PublicKey
        private let key: OpaquePointer

        /// A new key.
        package init() {
            _ = OpenSSL.shared
            guard let key = unsafe copenssl_p256_generate(), let publicKey = unsafe try? P256.publicKey(of: key) else {
                fatalError("OpenSSL has no curve P-256")
            }
            self.publicKey = publicKey
            unsafe self.key = key
        }

        /// The key of a scalar.
        ///
        /// - Parameter scalar: 32 bytes, big-endian, from 1 to the order of the curve less 1.
        /// - Throws: `crypto.key` for every other number.
        package init(scalar: Secret) throws(CryptoError) {
            _ = OpenSSL.shared
            defer { ERR_clear_error() }
            guard scalar.count == byteCount, let document = P256.document(scalar) else {
                throw CryptoError(.key, "a private key on P-256 has 32 bytes")
            }
            let handle = unsafe document.withBytes { bytes -> OpaquePointer? in
                unsafe bytes.withUnsafeBytes { bytes in
                    var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    return unsafe d2i_AutoPrivateKey(nil, &cursor, bytes.count)
                }
            }
            guard let key = unsafe handle else { throw CryptoError(.key, "the private key cannot be read") }
            do throws(CryptoError) {
                guard unsafe P256.isValid(key) else { throw CryptoError(.key, "the private key is not on the curve P-256") }
                publicKey = try unsafe P256.publicKey(of: key)
            } catch {
                unsafe EVP_PKEY_free(key)
                throw error
            }
            unsafe self.key = key
        }

        deinit {
            unsafe EVP_PKEY_free(key)
        }

        /// The stored form of the key: its scalar, 32 bytes, big-endian.
        package var scalar: Secret {
            var number: OpaquePointer?
            guard unsafe EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1, let number = unsafe number else {
                fatalError("OpenSSL lost a private key")
            }
            defer { unsafe BN_clear_free(number) }
            let scalar = unsafe Secret(count: byteCount) { unsafe BN_bn2binpad(number, $0, CInt(byteCount)) == byteCount }
            guard let scalar else { fatalError("OpenSSL lost a private key") }
            return scalar
        }

        /// Signs with ECDSA and SHA-256.
        ///
        /// - Returns: R and S, 64 bytes (RFC 7518 §3.4).
        package func sign(_ message: RawSpan) -> [UInt8] {
            let signature = unsafe makeSignature(of: message, with: key, digest: "SHA256", room: 80)
            let halves = unsafe [UInt8](unsafeUninitializedCapacity: 2 * byteCount) { buffer, filled in
                guard let start = buffer.baseAddress, unsafe copenssl_p256_split(signature, signature.count, start) == 1 else {
                    return
                }
                filled = 2 * byteCount
            }
            precondition(halves.count == 2 * byteCount, "OpenSSL lost a signature")
            return halves
        }

        /// The secret shared with another key: the X coordinate of the product (SEC 1 §3.3.1), 32 bytes. It is not yet a key; a
        /// key is derived from it.
        package func sharedSecret(with other: PublicKey) -> Secret {
            let context = unsafe OpenSSL.present(EVP_PKEY_CTX_new(key, nil))
            defer { unsafe EVP_PKEY_CTX_free(context) }
            var count = byteCount
            let secret = unsafe Secret(count: byteCount) { start in
                // A public key was checked to be on the curve, which has no small subgroups: once is enough.
                unsafe EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer_ex(context, other.key.key, 0) == 1
                    && EVP_PKEY_derive(context, start, &count) == 1 && count == byteCount
            }
            guard let secret else { fatalError("OpenSSL has no key agreement on P-256") }
            return secret
        }
    }

    /// PKCS#8 (RFC 5958) around a scalar, without the public half, which the library computes.
    private static func document(_ scalar: Secret) -> Secret? {
        let head: [UInt8] =
            [0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13] + DER.objectIdentifier("1.2.840.10045.2.1")
            + DER.objectIdentifier("1.2.840.10045.3.1.7") + [0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20]
        return unsafe Secret(count: head.count + byteCount) { start in
            unsafe start.update(from: head, count: head.count)
            scalar.withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe UnsafeMutableRawBufferPointer(start: start + head.count, count: byteCount).copyMemory(from: bytes)
                }
            }
            return true
        }
    }

    private static func isValid(_ key: OpaquePointer) -> Bool {
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, let context = unsafe EVP_PKEY_CTX_new(key, nil) else {
            return false
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        return unsafe EVP_PKEY_check(context) == 1
    }

    private static func publicKey(of key: OpaquePointer) throws(CryptoError) -> PublicKey {
        let count = 1 + 2 * byteCount
        var writtenCount = 0
        let point = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let status = unsafe EVP_PKEY_get_octet_string_param(
                key,
                OSSL_PKEY_PARAM_PUB_KEY,
                buffer.baseAddress,
                count,
                &writtenCount
            )
            filled = status == 1 ? min(writtenCount, count) : 0
        }
        guard point.count == count, point[0] == 0x04 else { throw CryptoError(.key, "the key cannot be written") }
        return try PublicKey(x: Array(point[1...byteCount]), y: Array(point[(1 + byteCount)...]))
    }
}

/// A signature over a message; `digest` is nil if the algorithm has its own.
func makeSignature(of message: RawSpan, with key: OpaquePointer, digest: String?, room: Int) -> [UInt8] {
    let context = unsafe OpenSSL.present(EVP_MD_CTX_new())
    defer { unsafe EVP_MD_CTX_free(context) }
    guard unsafe EVP_DigestSignInit_ex(context, nil, digest, nil, nil, key, nil) == 1 else {
        fatalError("OpenSSL does not sign with this key")
    }
    return unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, filled in
        var count = room
        let status = unsafe message.withUnsafeBytes { message in
            var empty: UInt8 = 0
            guard let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return unsafe EVP_DigestSign(context, buffer.baseAddress, &count, &empty, 0)
            }
            return unsafe EVP_DigestSign(context, buffer.baseAddress, &count, start, message.count)
        }
        guard status == 1 else { fatalError("OpenSSL does not sign with this key") }
        filled = count
    }
}
