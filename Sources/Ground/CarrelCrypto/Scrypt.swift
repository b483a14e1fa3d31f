// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// A key from a passphrase (RFC 7914), slow and large in memory so that guessing is expensive.
package struct Scrypt: Sendable, Hashable {
    /// N, a power of two from 2 to 2²⁰: time and memory grow with it.
    package let cost: Int
    /// r: memory is 128 · N · r bytes.
    package let blockSize: Int
    /// p.
    package let parallelism: Int

    /// For passphrases that people choose: 128 MiB, about half a second.
    package static let interactive = Scrypt(uncheckedCost: 1 << 17, blockSize: 8, parallelism: 1)

    /// The most memory that is taken, in bytes: parameters come from files too.
    package static let maxByteCount = 512 << 20

    /// - Throws: `crypto.refused` for parameters that the algorithm does not have, and for more memory than ``maxByteCount``.
    package init(cost: Int, blockSize: Int, parallelism: Int) throws(CryptoError) {
        guard 2...(1 << 20) ~= cost, cost.nonzeroBitCount == 1, 1...32 ~= blockSize, 1...16 ~= parallelism,
            128 * cost * blockSize <= Self.maxByteCount
        else { throw CryptoError(.refused, "the parameters of scrypt are out of range") }
        self.init(uncheckedCost: cost, blockSize: blockSize, parallelism: parallelism)
    }

    private init(uncheckedCost cost: Int, blockSize: Int, parallelism: Int) {
        self.cost = cost
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// Derives the key of a passphrase.
    ///
    /// - Parameters:
    ///   - passphrase: the passphrase as typed, in UTF-8.
    ///   - salt: 16 random bytes or more.
    ///   - count: the length of the key in bytes.
    /// - Returns: the key.
    /// - Throws: `crypto.refused` if there is not enough memory.
    package func key(_ passphrase: Secret, salt: [UInt8], count: Int) throws(CryptoError) -> Secret {
        _ = OpenSSL.shared
        defer { ERR_clear_error() }
        let derived = passphrase.withBytes { passphrase in
            unsafe passphrase.withUnsafeBytes { passphrase in
                let start = unsafe passphrase.baseAddress?.assumingMemoryBound(to: CChar.self)
                return unsafe Secret(count: count) { out in
                    unsafe EVP_PBE_scrypt(
                        start,
                        passphrase.count,
                        salt,
                        salt.count,
                        UInt64(cost),
                        UInt64(blockSize),
                        UInt64(parallelism),
                        UInt64(Self.maxByteCount + (32 << 20)),
                        out,
                        count
                    ) == 1
                }
            }
        }
        guard let derived else { throw CryptoError(.refused, "there is not enough memory for scrypt") }
        return derived
    }
}
