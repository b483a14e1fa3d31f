// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// The keyed digest HMAC-SHA-1 (RFC 2104, RFC 2202) of a message that comes in pieces, for what others still use it for.
package struct HMACSHA1: ~Copyable {
    private let context: MACContext

    /// Bytes of a digest.
    package static let byteCount = 20

    /// - Parameter key: any length.
    package init(key: Secret) {
        context = unsafe MACContext(key: key, digest: copenssl_digest_sha1(), byteCount: Self.byteCount)
    }

    /// Hashes the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) { context.update(bytes) }

    /// The digest: 20 bytes.
    package consuming func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            unsafe context.finish(into: buffer.baseAddress)
            count = Self.byteCount
        }
    }
}
