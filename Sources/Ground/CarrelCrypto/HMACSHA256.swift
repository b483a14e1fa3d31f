// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import COpenSSL
import CarrelThreads
import Synchronization

/// The keyed digest HMAC-SHA-256 (RFC 2104, RFC 4231) under one key, for any number of messages on any thread.
///
/// Contexts in which the key is already at work are kept and used again, which makes a short message five times faster.
package final class HMACSHA256: Sendable {
    private let key: Secret
    /// The context that serves unless another thread has it; taking it costs one atomic operation.
    private let first: MACContext
    private let firstIsTaken = Atomic(false)
    private let others = Locked<[MACContext]>([])

    /// - Parameter key: any length; 32 bytes is right.
    package init(key: Secret) {
        self.key = key
        first = MACContext(key: key)
    }

    /// The 32-byte digest of `message`.
    package func authenticate(_ message: RawSpan) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, initialized in
            unsafe digest(message, into: buffer.baseAddress)
            initialized = 32
        }
    }

    /// Whether `tag` is the digest of `message`, all 32 bytes of it, compared in constant time.
    package func isValid(_ tag: RawSpan, for message: RawSpan) -> Bool {
        let right = authenticate(message)
        return constantTimeEqual(tag, right.rawSpan)
    }

    private func digest(_ message: RawSpan, into tag: UnsafeMutablePointer<UInt8>?) {
        if !firstIsTaken.exchange(true, ordering: .acquiring) {
            unsafe first.digest(message, into: tag)
            firstIsTaken.store(false, ordering: .releasing)
        } else {
            let context = others.withLock { $0.popLast() } ?? MACContext(key: key)
            unsafe context.digest(message, into: tag)
            others.withLock { $0.append(context) }
        }
    }
}

/// One HMAC with its key set. Freeing it wipes the key.
@safe
private final class MACContext: @unchecked Sendable {  // used only by the thread that took it
    private let context: OpaquePointer

    init(key: Secret) {
        let openSSL = OpenSSL.shared
        let context = unsafe OpenSSL.present(EVP_MAC_CTX_new(openSSL.hmac))
        unsafe self.context = context
        let status = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let parameters = unsafe [copenssl_digest_sha256(), OSSL_PARAM_construct_end()]
                var empty: UInt8 = 0
                guard let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                    return unsafe EVP_MAC_init(context, &empty, 0, parameters)
                }
                return unsafe EVP_MAC_init(context, start, key.count, parameters)
            }
        }
        guard status == 1 else { fatalError("OpenSSL has no HMAC-SHA-256") }
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    func digest(_ message: RawSpan, into tag: UnsafeMutablePointer<UInt8>?) {
        let isDone = unsafe message.withUnsafeBytes { message in
            let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
            // without a key: start again with the current key
            return unsafe EVP_MAC_init(context, nil, 0, nil) == 1
                && EVP_MAC_update(context, start, message.count) == 1
                && EVP_MAC_final(context, tag, nil, 32) == 1
        }
        precondition(isDone, "OpenSSL lost a digest")
    }
}
