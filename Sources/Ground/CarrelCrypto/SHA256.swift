// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// The 256-bit digest of FIPS 180-4.
package enum SHA256 {
    /// Bytes of a digest.
    package static let byteCount = 32

    /// The digest of `bytes`.
    package static func hash(_ bytes: RawSpan) -> [UInt8] {
        var stream = Stream()
        stream.update(bytes)
        return stream.finish()
    }

    /// A digest of bytes that come in pieces.
    @safe
    package struct Stream: ~Copyable, @unchecked Sendable {  // the context has one owner
        private let context: OpaquePointer

        /// A digest of nothing yet.
        package init() {
            let context = unsafe OpenSSL.present(EVP_MD_CTX_new())
            guard unsafe EVP_DigestInit_ex2(context, OpenSSL.shared.sha256, nil) == 1 else {
                fatalError("OpenSSL has no SHA-256")
            }
            unsafe self.context = context
        }

        deinit {
            unsafe EVP_MD_CTX_free(context)
        }

        /// Adds the next bytes.
        package mutating func update(_ bytes: RawSpan) {
            let status = unsafe bytes.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
            precondition(status == 1, "OpenSSL lost a digest")
        }

        /// The digest of all bytes added.
        package consuming func finish() -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, initialized in
                guard unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, nil) == 1 else {
                    fatalError("OpenSSL lost a digest")
                }
                initialized = SHA256.byteCount
            }
        }
    }
}
