// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// AES-256 in counter mode (NIST SP 800-38A §6.5) under one key, for any number of texts on any thread, with the counter of GCM:
/// 12 bytes of nonce and 4 that count from 2. It does not detect altered bytes: the caller authenticates them.
///
/// The key is expanded once, which takes longer than a short text.
package final class AESCounter: Sendable {
    private let context: Locked<CipherContext>

    /// - Parameter key: 32 bytes.
    /// - Throws: `keyLength`, or `refused` when there is no memory.
    package init(key: Secret) throws(CryptoError) {
        guard key.count == 32 else { throw CryptoError(.keyLength, "an AES-256 key has 32 bytes") }
        let start = [UInt8](repeating: 0, count: 16)
        context = Locked(try unsafe CipherContext(OpenSSL.shared.aes256Counter, key: key, iv: start, encrypt: true))
    }

    /// Encrypts or decrypts bytes: both are the same operation.
    ///
    /// - Parameters:
    ///   - bytes: the plain text, or the cipher text.
    ///   - nonce: 12 bytes, never twice under one key.
    /// - Returns: the same number of bytes.
    /// - Throws: `ivLength`, or `refused`.
    package func apply(to bytes: RawSpan, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard nonce.count == 12 else { throw CryptoError(.ivLength, "the nonce of the counter mode has 12 bytes") }
        var counter = nonce
        counter += [0, 0, 0, 2]
        let count = bytes.byteCount
        let result = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = context.withLock { context in
                guard (try? context.restart(iv: counter)) != nil else { return 0 }
                return unsafe context.transform(bytes, into: buffer.baseAddress) ?? 0
            }
        }
        guard result.count == count else { throw CryptoError(.refused, "the cipher failed") }
        return result
    }
}
