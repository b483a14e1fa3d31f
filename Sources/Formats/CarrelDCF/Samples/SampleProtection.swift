// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// The protection of a track by a scheme that encrypts each sample as a whole, after a header: OMA PDCF, ISMACryp or Marlin.
///
/// ```swift
/// let protection = try SampleProtection(track.protection)  // of Marlin: MarlinTracks
/// var decrypter = try protection.decrypter(key: key)
/// let clear = try decrypter.decrypt(&bytes, sample: range)  // the clear bytes are bytes[clear]
/// ```
package enum SampleProtection: Sendable, Hashable {
    /// OMA PDCF, the scheme `odkm`.
    case pdcf(PDCFProtection)
    /// ISMACryp, the scheme `iAEC`.
    case isma(ISMACrypProtection)
    /// Marlin, the schemes `ACBC` and `ACGK`.
    case marlin(MarlinProtection)

    /// Reads the protection of a track by its sample entry; nil for every other scheme. Marlin's is not in the sample entry:
    /// ``MarlinTracks`` finds it.
    ///
    /// - Parameter protection: of a track.
    /// - Throws: `Malformed` with the fault and its place in the scheme's information.
    package init?(_ protection: MP4Protection) throws(Malformed) {
        let information = protection.schemeInformation
        switch protection.scheme {
        case "odkm": self = .pdcf(try PDCFProtection(information.rawSpan))
        case "iAEC": self = .isma(try ISMACrypProtection(information.rawSpan))
        default: return nil
        }
    }

    /// The name of the content key; nil for ISMACryp, which does not name keys.
    package var contentID: String? {
        switch self {
        case .pdcf(let track): track.headers.contentID
        case .isma: nil
        case .marlin(let track): track.contentID
        }
    }

    /// The ID of the group whose key wraps the content key; empty if the format does not name it, nil without a group.
    package var groupID: String? {
        switch self {
        case .pdcf(let track): track.headers.groupKey?.groupID
        case .isma: nil
        case .marlin(let track): track.scheme == .groupKey ? "" : nil
        }
    }

    /// Unwraps the content key.
    ///
    /// - Parameter groupKey: the key of the group.
    /// - Returns: the content key.
    /// - Throws: `integrity` or `padding` if it is wrapped under another key; `key` if the track has no wrapped key.
    package func contentKey(under groupKey: Secret) throws(CryptoError) -> Secret {
        switch self {
        case .pdcf(let track):
            if let wrapped = track.headers.groupKey { return try wrapped.unwrap(under: groupKey) }
        case .isma: break
        case .marlin(let track):
            if let wrapped = track.wrappedKey { return try AESKeyWrap.unwrap(wrapped.rawSpan, under: groupKey) }
        }
        throw CryptoError(.key, "the track has no wrapped content key")
    }

    /// Makes the track's decrypter.
    ///
    /// - Parameter key: the content key, 16 bytes.
    /// - Returns: a decrypter for any number of samples.
    /// - Throws: `keyLength`; `integrity` if the track shows that the key is another.
    package func decrypter(key: Secret) throws(CryptoError) -> SampleDecrypter { try SampleDecrypter(self, key) }
}

/// Decrypts the samples of one track in place, in any order and without allocations.
package struct SampleDecrypter: ~Copyable, Sendable {
    private let protection: SampleProtection
    private var stream: AESStream

    init(_ protection: SampleProtection, _ key: Secret) throws(CryptoError) {
        let stream = try Self.stream(protection, key)
        self.stream = stream
        self.protection = protection
    }

    private static func stream(_ protection: SampleProtection, _ key: Secret) throws(CryptoError) -> AESStream {
        guard key.count == 16 else { throw CryptoError(.keyLength, "a content key has 16 bytes") }
        switch protection {
        case .pdcf(let track): return try AESStream(track.headers.cipher == .cbc ? .chainedDecrypt : .counter, key: key)
        case .isma: return try AESStream(.counter, key: key)
        case .marlin(let track):
            try track.verify(key)
            return try AESStream(.chainedDecrypt, key: key)
        }
    }

    /// Decrypts one sample.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the sample; it is changed in place.
    ///   - range: the range of the sample. Traps if it is not within `bytes`.
    /// - Returns: the range of the clear sample in `bytes`, within `range`.
    /// - Throws: `Malformed` if the sample is shorter than its header, is not whole blocks, or its padding is wrong (another key,
    ///   or altered bytes); offsets are relative to the start of the sample.
    package mutating func decrypt(_ bytes: inout MutableRawSpan, sample range: Range<Int>) throws(Malformed) -> Range<Int> {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the sample lies outside the bytes")
        switch protection {
        case .pdcf(let track):
            let parts = try track.sampleHeader.split(bytes.bytes, in: range)
            guard let iv = parts.iv else { return parts.data }
            switch track.headers.cipher {
            case .none: return parts.data
            case .cbc: return try chained(&bytes, iv, parts.data, isPadded: track.headers.isPadded, range.lowerBound)
            case .counter:
                guard let counter = AESBlock(bytes.bytes.extracting(iv)) else { return parts.data }
                var data = bytes._mutatingExtracting(parts.data)
                stream.count(&data, from: counter, block: 0, .all128)
                return parts.data
            }
        case .isma(let track):
            let parts = try track.sampleHeader.split(bytes.bytes, in: range)
            guard let iv = parts.iv else { return parts.data }
            let offset = iv.reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64(bytes.bytes.u8(at: $1)) }
            isma(&bytes, parts.data, salt: track.salt, offset: offset)
            return parts.data
        case .marlin:
            guard range.count >= 16 else { throw Malformed("sample is shorter than its initialization vector", at: 0) }
            let start = range.lowerBound + 16
            return try chained(&bytes, range.lowerBound..<start, start..<range.upperBound, isPadded: true, range.lowerBound)
        }
    }

    /// Decrypts CBC and takes off the padding.
    private mutating func chained(
        _ bytes: inout MutableRawSpan,
        _ iv: Range<Int>,
        _ data: Range<Int>,
        isPadded: Bool,
        _ base: Int
    ) throws(Malformed) -> Range<Int> {
        guard data.count & 15 == 0, !isPadded || !data.isEmpty else {
            throw Malformed("sample does not end with a whole block", at: data.upperBound - base)
        }
        guard !data.isEmpty, let vector = AESBlock(bytes.bytes.extracting(iv)) else { return data }
        stream.start(vector)
        stream.apply(to: &bytes, in: data)
        guard isPadded else { return data }
        let padding = bytes.bytes.u8(at: data.upperBound - 1)
        let end = data.upperBound - Int(padding)
        guard (1...16).contains(padding), (end..<data.upperBound).allSatisfy({ bytes.bytes.u8(at: $0) == padding }) else {
            throw Malformed("padding is wrong (another key, or altered bytes)", at: data.upperBound - 1 - base)
        }
        return data.lowerBound..<end
    }

    /// Applies ISMACryp's counter from a byte offset of the key stream (ISMACryp 1.1 §10).
    private mutating func isma(_ bytes: inout MutableRawSpan, _ data: Range<Int>, salt: UInt64, offset: UInt64) {
        var block = AESBlock(high: salt, low: offset / 16)
        let inside = Int(offset % 16)
        var start = data.lowerBound
        if inside > 0 {
            // the first block is used up in part: its key stream is made apart
            var pad: InlineArray<16, UInt8> = .init(repeating: 0)
            var span = pad.mutableSpan
            var raw = unsafe span.mutableBytes
            stream.start(block)
            stream.apply(to: &raw, in: 0..<16)
            let count = min(16 - inside, data.count)
            for i in 0..<count {
                let byte = bytes.bytes.u8(at: start + i) ^ raw.bytes.u8(at: inside + i)
                bytes.storeBytes(of: byte, toByteOffset: start + i, as: UInt8.self)
            }
            start += count
            block = block.advanced(by: 1)
        }
        guard start < data.upperBound else { return }
        stream.start(block)
        stream.apply(to: &bytes, in: start..<data.upperBound)
    }
}
