// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// A segment of a transport stream whose packets tell which one it is, in the clear and as AES-128 (RFC 8216 §4.3.2.4).
struct MarkedSegment {
    static let key: [UInt8] = Array(0..<16)
    let clear: [UInt8]
    let encrypted: [UInt8]

    /// - Parameters:
    ///   - mark: in all bytes of its packets.
    ///   - number: the media sequence number, which is the vector.
    ///   - packets: in all.
    /// - Throws: what the cipher throws.
    init(_ mark: UInt8, number: Int = 0, packets: Int = 7) throws {
        let head: [UInt8] = [0x47, 0, 0, 0x10]
        let packet = head + [UInt8](repeating: mark, count: 184)
        clear = [UInt8](repeatElement(packet, count: packets).joined())
        let vector = [UInt8](repeating: 0, count: 15) + [UInt8(truncatingIfNeeded: number)]
        encrypted = try Self.encrypted(clear, vector)
    }

    /// Bytes under the key of the test.
    static func encrypted(_ clear: [UInt8], _ vector: [UInt8]) throws -> [UInt8] {
        var cipher: AESCBCEncryptor? = try AESCBCEncryptor(key: Secret(key), iv: vector)
        return try [UInt8](rawCapacity: clear.count + 16) { span throws(CryptoError) in
            try cipher?.update(clear.rawSpan, into: &span)
            if let cipher = cipher.take() { try cipher.finish(into: &span) }
        }
    }
}
