// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Common Encryption as the standard words it, block by block: slow, and written without the ciphers that it judges, except for single
/// blocks (ISO/IEC 23001-7 §9, §10).
struct ReferenceCipher {
    var scheme: String
    var key: [UInt8]
    var crypt = 0
    var skip = 0

    /// One block of AES: CBC under a vector of zeros.
    private func block(_ input: [UInt8]) throws -> [UInt8] {
        var cipher = try AESStream(.chainedEncrypt, key: Secret(key))
        cipher.start(AESBlock(high: 0, low: 0))
        var bytes = input
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        cipher.apply(to: &span, in: 0..<16)
        return bytes
    }

    /// The sample, encrypted.
    func encrypt(_ sample: [UInt8], parts: [(clear: Int, protected: Int)], iv: [UInt8]) throws -> [UInt8] {
        var ranges: [Range<Int>] = []
        var at = 0
        for part in parts {
            ranges.append(at + part.clear..<at + part.clear + part.protected)
            at += part.clear + part.protected
        }
        if parts.isEmpty { ranges = [0..<sample.count] }
        let start = iv + [UInt8](repeating: 0, count: 16 - iv.count)
        return scheme == "cenc" || scheme == "cens" ? try counted(sample, ranges, start) : try chained(sample, ranges, start)
    }

    /// The places of the bytes of a protected range that are encrypted.
    private func places(_ range: Range<Int>) -> [Int] {
        if scheme == "cenc" || scheme == "cens" && crypt == 0 && skip == 0 { return Array(range) }
        let blocks = range.count / 16
        let chosen = (0..<blocks).filter { scheme == "cbc1" || crypt == 0 || skip == 0 || $0 % (crypt + skip) < crypt }
        return chosen.flatMap { number in (0..<16).map { range.lowerBound + number * 16 + $0 } }
    }

    private func counted(_ sample: [UInt8], _ ranges: [Range<Int>], _ start: [UInt8]) throws -> [UInt8] {
        var result = sample
        var counter = start
        var stream: [UInt8] = []
        for place in ranges.flatMap(places) {
            if stream.isEmpty {
                stream = try block(counter)
                // the last eight bytes count alone
                for i in (8..<16).reversed() {
                    counter[i] &+= 1
                    if counter[i] != 0 { break }
                }
            }
            result[place] ^= stream.removeFirst()
        }
        return result
    }

    private func chained(_ sample: [UInt8], _ ranges: [Range<Int>], _ start: [UInt8]) throws -> [UInt8] {
        var result = sample
        var last = start
        for range in ranges {
            if scheme == "cbcs" { last = start }
            let places = places(range)
            for first in stride(from: 0, to: places.count - places.count % 16, by: 16) {
                let here = places[first..<first + 16]
                last = try block(zip(here, last).map { result[$0] ^ $1 })
                for (place, byte) in zip(here, last) { result[place] = byte }
            }
        }
        return result
    }
}
