// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// The keyed digest HMAC-SHA-512 (RFC 2104, RFC 4231) under one key, for messages one after another.
@safe
package struct HMACSHA512: ~Copyable {
    private let context: OpaquePointer

    /// Bytes of a digest.
    package static let byteCount = 64

    /// - Parameter key: any length; 64 bytes is right.
    package init(key: Secret) {
        let context = unsafe OpenSSL.present(EVP_MAC_CTX_new(OpenSSL.shared.hmac))
        let done = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let parameters = unsafe [copenssl_digest_sha512(), OSSL_PARAM_construct_end()]
                var empty: UInt8 = 0
                guard let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                    return unsafe EVP_MAC_init(context, &empty, 0, parameters)
                }
                return unsafe EVP_MAC_init(context, start, key.count, parameters)
            }
        }
        guard done == 1 else { fatalError("OpenSSL has no HMAC-SHA-512") }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// The 64-byte digest of `message`.
    package mutating func authenticate(_ message: RawSpan) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            let done = unsafe message.withUnsafeBytes { message in
                let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
                // without a key: start again with the current key
                return unsafe EVP_MAC_init(context, nil, 0, nil) == 1
                    && EVP_MAC_update(context, start, message.count) == 1
                    && EVP_MAC_final(context, buffer.baseAddress, nil, Self.byteCount) == 1
            }
            precondition(done, "OpenSSL lost a digest")
            count = Self.byteCount
        }
    }

    /// Whether `tag` is the whole digest of `message`, compared in constant time.
    package mutating func isValid(_ tag: RawSpan, for message: RawSpan) -> Bool {
        let digest = authenticate(message)
        return constantTimeEqual(tag, digest.rawSpan)
    }
}
