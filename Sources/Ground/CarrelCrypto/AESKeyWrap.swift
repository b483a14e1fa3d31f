// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Keys kept under another key, with an integrity check (RFC 3394, AES-KW with the default initial value).
package enum AESKeyWrap {
    /// Wraps `key` under `wrapper`.
    ///
    /// - Parameters:
    ///   - key: 16 bytes or more, a multiple of 8.
    ///   - wrapper: 16 or 32 bytes.
    /// - Returns: 8 bytes more than the key has.
    /// - Throws: `keyLength`, `length`, or `refused`.
    package static func wrap(_ key: Secret, under wrapper: Secret) throws(CryptoError) -> [UInt8] {
        guard key.count >= 16, key.count & 7 == 0 else {
            throw CryptoError(.length, "a key to wrap has 16 bytes or more, a multiple of 8")
        }
        var context = try context(wrapper, encrypt: true)
        let count = key.count + 8
        var isDone = false
        let wrapped = [UInt8](capacity: count) { (out: inout OutputSpan<UInt8>) in
            unsafe out.withUnsafeMutableBufferPointer { buffer, filled in
                key.withBytes { isDone = unsafe context.transform($0, into: buffer.baseAddress) == count }
                filled = isDone ? count : 0
            }
        }
        guard isDone else { throw CryptoError(.refused, "the cipher failed") }
        return wrapped
    }

    /// Unwraps what `wrap` gave.
    ///
    /// - Parameters:
    ///   - wrapped: 24 bytes or more, a multiple of 8.
    ///   - wrapper: 16 or 32 bytes.
    /// - Returns: the key, 8 bytes shorter.
    /// - Throws: `keyLength`, `length`, or `integrity` when it was wrapped under another key or altered.
    package static func unwrap(_ wrapped: RawSpan, under wrapper: Secret) throws(CryptoError) -> Secret {
        guard wrapped.byteCount >= 24, wrapped.byteCount & 7 == 0 else {
            throw CryptoError(.length, "a wrapped key has 24 bytes or more, a multiple of 8")
        }
        var context = try context(wrapper, encrypt: false)
        let count = wrapped.byteCount - 8
        // the library works in place of the whole input
        let room = unsafe Secret(count: count + 8) { unsafe context.transform(wrapped, into: $0) == count }
        guard let room else { throw CryptoError(.integrity, "the wrapped key is not what was wrapped under this key") }
        return room.withBytes { Secret(copying: $0.extracting(first: count)) }
    }

    private static func context(_ wrapper: Secret, encrypt: Bool) throws(CryptoError) -> CipherContext {
        guard wrapper.count == 16 || wrapper.count == 32 else {
            throw CryptoError(.keyLength, "a wrapping key has 16 or 32 bytes")
        }
        let openSSL = OpenSSL.shared
        let cipher = unsafe wrapper.count == 16 ? openSSL.aes128Wrap : openSSL.aes256Wrap
        return try unsafe CipherContext(cipher, key: wrapper, iv: nil, encrypt: encrypt)
    }
}
