// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelHLS

/// Decrypts the bytes of one media segment that is encrypted as a whole: `AES-128`, `AES-256`, `AES-256-CTR` (RFC 8216 §4.3.2.4),
/// and DASH segment encryption (ISO/IEC 23009-4).
///
/// It takes pieces of any size and returns clear bytes immediately; `finish` returns the last ones and checks the padding.
package struct SegmentCipher: ~Copyable {
    private var chained: AESCBCDecryptor?
    private var counter: AESStream?

    /// - Parameters:
    ///   - method: the encryption method of segments.
    ///   - key: 16 bytes, or 32 for methods with 256-bit keys.
    ///   - iv: the initialization vector of this segment.
    /// - Throws: `unsupported` if the method does not encrypt segments as a whole; `wrongKey` if the key has another length.
    package init(_ method: EncryptionKey.Method, key: Secret, iv: AESBlock) throws(MediaError) {
        let length = method == .aes128 ? 16 : 32
        guard method == .aes128 || method == .aes256 || method == .aes256CTR else {
            throw MediaError(.unsupported, "segments are encrypted by \(method.rawValue)")
        }
        guard key.count == length else {
            throw MediaError(.wrongKey, "\(method.rawValue) has keys of \(length) bytes, and this one has \(key.count)")
        }
        do throws(CryptoError) {
            if method == .aes256CTR {
                counter = try AESStream(.counter, key: key)
                counter?.start(iv)
            } else {
                chained = try AESCBCDecryptor(key: key, iv: iv.bytes)
            }
        } catch {
            throw MediaError(.unsupported, error.message)
        }
    }

    /// Decrypts a piece.
    ///
    /// - Parameters:
    ///   - piece: the next bytes of the segment.
    ///   - out: gets clear bytes appended.
    /// - Throws: if the cipher fails.
    package mutating func decrypt(_ piece: RawSpan, into out: inout [UInt8]) throws(MediaError) {
        if counter != nil {
            let start = out.count
            out.append(copying: piece)
            var elements = out.mutableSpan
            var bytes = unsafe elements.mutableBytes
            counter?.apply(to: &bytes, in: start..<bytes.byteCount)
            return
        }
        do throws(CryptoError) {
            let more = try [UInt8](rawCapacity: piece.byteCount + 16) { span throws(CryptoError) in
                try chained?.update(piece, into: &span)
            }
            out += more
        } catch {
            throw MediaError(.malformed, error.message)
        }
    }

    /// Ends the segment.
    ///
    /// - Parameter out: gets the last clear bytes appended.
    /// - Throws: `wrongKey` if the padding is wrong; `malformed` if the segment is not whole blocks.
    package mutating func finish(into out: inout [UInt8]) throws(MediaError) {
        guard let chained = chained.take() else { return }
        do throws(CryptoError) {
            let more = try Self.last(of: chained)
            out += more
        } catch {
            guard error.code == .padding else { throw MediaError(.malformed, "the segment does not end with a whole block") }
            throw MediaError(.wrongKey, "the padding is wrong: another key or vector, or altered bytes")
        }
    }

    private static func last(of cipher: consuming AESCBCDecryptor) throws(CryptoError) -> [UInt8] {
        var held: AESCBCDecryptor? = cipher
        return try [UInt8](rawCapacity: 16) { span throws(CryptoError) in
            if let cipher = held.take() { try cipher.finish(into: &span) }
        }
    }
}
