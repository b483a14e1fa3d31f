// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Signatures with Ed25519 (RFC 8032), which a server makes: short, fast, and the same for the same message.
package enum Ed25519 {
    /// Bytes of a key, private or public; a signature has twice as many.
    package static let byteCount = 32

    /// The public half.
    @safe
    package final class PublicKey: @unchecked Sendable, Hashable {  // the key never changes after `init`
        /// 32 bytes (RFC 8032 §5.1.5).
        package let bytes: [UInt8]
        private let key: OpaquePointer

        /// - Parameter bytes: 32 bytes.
        /// - Throws: `crypto.key` for a different count of bytes.
        package init(_ bytes: [UInt8]) throws(CryptoError) {
            _ = OpenSSL.shared
            guard bytes.count == byteCount,
                let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
            else {
                ERR_clear_error()
                throw CryptoError(.key, "a public key of Ed25519 has 32 bytes")
            }
            self.bytes = bytes
            unsafe self.key = key
        }

        deinit {
            unsafe EVP_PKEY_free(key)
        }

        /// Whether a signature of 64 bytes was made over `message` with the private half.
        package func isValid(_ signature: [UInt8], for message: RawSpan) -> Bool {
            guard signature.count == 2 * byteCount, let context = unsafe EVP_MD_CTX_new() else { return false }
            defer {
                unsafe EVP_MD_CTX_free(context)
                ERR_clear_error()
            }
            guard unsafe EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key, nil) == 1 else { return false }
            return unsafe message.withUnsafeBytes { message in
                var empty: UInt8 = 0
                guard let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                    return unsafe EVP_DigestVerify(context, signature, signature.count, &empty, 0) == 1
                }
                return unsafe EVP_DigestVerify(context, signature, signature.count, start, message.count) == 1
            }
        }

        package static func == (a: PublicKey, b: PublicKey) -> Bool { a.bytes == b.bytes }

        package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
    }

    /// A private key.
    @safe
    package final class PrivateKey: @unchecked Sendable {  // the key never changes after `init`
        /// The stored form of the key: the 32 bytes that it is made from (RFC 8032 §5.1.5).
        package let seed: Secret
        /// The public half.
        package let publicKey: PublicKey
        private let key: OpaquePointer

        /// A new key.
        package static func generate() -> PrivateKey {
            guard let key = try? PrivateKey(seed: .random(count: byteCount)) else { fatalError("OpenSSL has no Ed25519") }
            return key
        }

        /// - Parameter seed: 32 bytes.
        /// - Throws: `crypto.key` for a different count of bytes.
        package init(seed: Secret) throws(CryptoError) {
            _ = OpenSSL.shared
            guard seed.count == byteCount else { throw CryptoError(.key, "a private key of Ed25519 has 32 bytes") }
            let handle = unsafe seed.withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    return unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, start, bytes.count)
                }
            }
            let key = unsafe OpenSSL.present(handle)
            var count = byteCount
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, filled in
                filled = unsafe EVP_PKEY_get_raw_public_key(key, buffer.baseAddress, &count) == 1 ? count : 0
            }
            do throws(CryptoError) {
                publicKey = try PublicKey(bytes)
            } catch {
                unsafe EVP_PKEY_free(key)
                throw error
            }
            self.seed = seed
            unsafe self.key = key
        }

        deinit {
            unsafe EVP_PKEY_free(key)
        }

        /// A signature of 64 bytes over `message`.
        package func sign(_ message: RawSpan) -> [UInt8] {
            unsafe makeSignature(of: message, with: key, digest: nil, room: 2 * byteCount)
        }
    }
}
