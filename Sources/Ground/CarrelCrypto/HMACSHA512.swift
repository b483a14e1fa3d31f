// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// The keyed digest HMAC-SHA-512 (RFC 2104, RFC 4231) under one key, for messages one after another.
package struct HMACSHA512: ~Copyable {
    private let context: MACContext

    /// Bytes of a digest.
    package static let byteCount = 64

    /// - Parameter key: any length; 64 bytes is right.
    package init(key: Secret) {
        context = unsafe MACContext(key: key, digest: copenssl_digest_sha512(), byteCount: Self.byteCount)
    }

    /// The 64-byte digest of `message`.
    package mutating func authenticate(_ message: RawSpan) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            unsafe context.digest(message, into: buffer.baseAddress)
            count = Self.byteCount
        }
    }

    /// Whether `tag` is the whole digest of `message`, compared in constant time.
    package mutating func isValid(_ tag: RawSpan, for message: RawSpan) -> Bool {
        let digest = authenticate(message)
        return constantTimeEqual(tag, digest.rawSpan)
    }
}
