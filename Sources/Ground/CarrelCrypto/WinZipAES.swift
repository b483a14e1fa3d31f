// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// AES in the counter mode of encrypted ZIP archives (WinZip, "AES Encryption Information"): the counter of a block is its place from
/// 1, little-endian, so that decrypting may begin anywhere.
package final class WinZipAES: Sendable {
    private let key: Secret

    /// - Parameter key: 16, 24 or 32 bytes.
    /// - Throws: `keyLength`.
    package init(key: Secret) throws(CryptoError) {
        guard [16, 24, 32].contains(key.count) else { throw CryptoError(.keyLength, "an AES key has 16, 24 or 32 bytes") }
        self.key = key
    }

    /// Encrypts or decrypts bytes, which is the same operation.
    ///
    /// - Parameters:
    ///   - bytes: the bytes, changed in place.
    ///   - first: the index of the first byte to change.
    ///   - position: the position of that byte in the whole message.
    /// - Throws: `refused`.
    package func apply(to bytes: inout [UInt8], from first: Int, at position: Int64) throws(CryptoError) {
        guard first < bytes.count else { return }
        let (firstBlock, skip) = (UInt64(position) / 16, Int(position % 16))
        let blocks = (skip + bytes.count - first + 15) / 16
        var counters = [UInt8](repeating: 0, count: blocks * 16)
        for block in 0..<blocks {
            var number = firstBlock + UInt64(block) + 1
            for i in 0..<8 {
                counters[block * 16 + i] = UInt8(truncatingIfNeeded: number)
                number >>= 8
            }
        }
        let cipher = unsafe key.count == 16 ? EVP_aes_128_ecb() : key.count == 24 ? EVP_aes_192_ecb() : EVP_aes_256_ecb()
        var context = unsafe try CipherContext(OpenSSL.present(cipher), key: key, iv: nil, encrypt: true)
        var stream = [UInt8](repeating: 0, count: blocks * 16)
        let writtenCount = unsafe stream.withUnsafeMutableBufferPointer {
            unsafe context.transform(counters.span.bytes, into: $0.baseAddress)
        }
        guard writtenCount == stream.count else { throw CryptoError(.refused, "the cipher failed") }
        for i in first..<bytes.count { bytes[i] ^= stream[skip + i - first] }
    }
}
