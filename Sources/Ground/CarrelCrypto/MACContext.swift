// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// One HMAC (RFC 2104) with its key set. Freeing it wipes the key.
@safe
final class MACContext: @unchecked Sendable {  // used by one thread at a time
    private let context: OpaquePointer
    private let byteCount: Int

    /// - Parameters:
    ///   - key: any length.
    ///   - digest: the parameter that names the digest.
    ///   - byteCount: bytes of the digest.
    init(key: Secret, digest: OSSL_PARAM, byteCount: Int) {
        let context = unsafe OpenSSL.present(EVP_MAC_CTX_new(OpenSSL.shared.hmac))
        unsafe self.context = context
        self.byteCount = byteCount
        let status = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let parameters = unsafe [digest, OSSL_PARAM_construct_end()]
                var empty: UInt8 = 0
                guard let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                    return unsafe EVP_MAC_init(context, &empty, 0, parameters)
                }
                return unsafe EVP_MAC_init(context, start, key.count, parameters)
            }
        }
        guard status == 1 else { fatalError("OpenSSL has no HMAC with a digest of \(byteCount) bytes") }
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// Writes the digest of a whole message, and is ready for the next.
    func digest(_ message: RawSpan, into tag: UnsafeMutablePointer<UInt8>?) {
        // without a key: start again with the current key
        precondition(unsafe EVP_MAC_init(context, nil, 0, nil) == 1, "OpenSSL lost a digest")
        update(message)
        unsafe finish(into: tag)
    }

    /// Hashes the next bytes of a message.
    func update(_ bytes: RawSpan) {
        let status = unsafe bytes.withUnsafeBytes { bytes in
            unsafe EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        precondition(status == 1, "OpenSSL lost a digest")
    }

    /// Writes the digest of the bytes so far.
    func finish(into tag: UnsafeMutablePointer<UInt8>?) {
        precondition(unsafe EVP_MAC_final(context, tag, nil, byteCount) == 1, "OpenSSL lost a digest")
    }
}
