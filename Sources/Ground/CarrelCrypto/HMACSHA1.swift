// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// The keyed digest HMAC-SHA-1 (RFC 2104, RFC 2202) of a message that comes in pieces, for what others still use it for.
@safe
package struct HMACSHA1: ~Copyable {
    private let context: OpaquePointer

    /// Bytes of a digest.
    package static let byteCount = 20

    /// - Parameter key: any length.
    package init(key: Secret) {
        let context = unsafe OpenSSL.present(EVP_MAC_CTX_new(OpenSSL.shared.hmac))
        let status = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let parameters = unsafe [copenssl_digest_sha1(), OSSL_PARAM_construct_end()]
                var empty: UInt8 = 0
                guard let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                    return unsafe EVP_MAC_init(context, &empty, 0, parameters)
                }
                return unsafe EVP_MAC_init(context, start, key.count, parameters)
            }
        }
        guard status == 1 else { fatalError("OpenSSL has no HMAC-SHA-1") }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// Hashes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) {
        let status = unsafe bytes.withUnsafeBytes { bytes in
            unsafe EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        precondition(status == 1, "OpenSSL lost a digest")
    }

    /// The digest: 20 bytes.
    package consuming func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            let status = unsafe EVP_MAC_final(context, buffer.baseAddress, nil, Self.byteCount)
            precondition(status == 1, "OpenSSL lost a digest")
            count = Self.byteCount
        }
    }
}
