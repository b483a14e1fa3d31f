// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

/// A payload that is encrypted as a whole: the location of its bytes, and independent decryption of any range.
///
/// Holds no key and reads nothing. To read a range of the clear bytes, read ``range(holding:)`` from the file and pass the bytes
/// to ``decrypt(_:holding:key:)``.
package struct EncryptedPayload: Sendable, Hashable {
    /// How far the counter of CTR carries.
    package enum CounterWidth: Sendable, Hashable {
        /// The low 64 bits are the counter, and wrap.
        case low64
        /// All 128 bits are the counter (NIST SP 800-38A appendix B.1), as in OMA DCF.
        case all128
    }

    /// How the bytes are encrypted.
    package let cipher: DCFCipher
    /// The offset of the encrypted bytes in the file, after the initialization vector.
    package let start: Int64
    /// Bytes there.
    package let encryptedLength: Int64
    /// The initialization vector, or the first counter block.
    package let iv: AESBlock
    /// Whether RFC 2630 padding fills the last block of CBC.
    package let isPadded: Bool
    /// How far the counter carries.
    package let counterWidth: CounterWidth
    /// Bytes in the clear; nil until ``measure(_:key:)`` has read the padding.
    package private(set) var clearLength: Int64?

    /// - Parameters:
    ///   - cipher: how the bytes are encrypted.
    ///   - start: the offset of the encrypted bytes in the file.
    ///   - encryptedLength: number of encrypted bytes.
    ///   - iv: the initialization vector, or the first counter block.
    ///   - isPadded: whether padding fills the last CBC block.
    ///   - counterWidth: the width of the counter.
    ///   - clearLength: number of clear bytes; nil if only the padding determines it.
    /// - Throws: `Malformed` if no content of that length encrypts to that many bytes.
    package init(
        _ cipher: DCFCipher,
        start: Int64,
        encryptedLength: Int64,
        iv: AESBlock,
        isPadded: Bool,
        counterWidth: CounterWidth = .all128,
        clearLength: Int64?
    ) throws(Malformed) {
        let place = Int(start)
        guard encryptedLength >= 0, start >= 0, !start.addingReportingOverflow(encryptedLength).overflow else {
            throw Malformed("encrypted data has an impossible length", at: place)
        }
        if cipher == .cbc {
            guard encryptedLength & 15 == 0 else { throw Malformed("encrypted data does not end with a whole block", at: place) }
            guard !isPadded || encryptedLength > 0 else { throw Malformed("encrypted data has no block of padding", at: place) }
        }
        if let clearLength {
            let surplus = encryptedLength.subtractingReportingOverflow(clearLength)
            guard clearLength >= 0, !surplus.overflow, surplus.partialValue >= 0 else {
                throw Malformed("plaintext length is longer than the data", at: place)
            }
            guard cipher != .cbc || !isPadded || (1...16).contains(surplus.partialValue) else {
                throw Malformed("plaintext length does not fit the data", at: place)
            }
        }
        self.cipher = cipher
        self.start = start
        self.encryptedLength = encryptedLength
        self.iv = iv
        self.isPadded = isPadded && cipher == .cbc
        self.counterWidth = counterWidth
        self.clearLength = self.isPadded ? clearLength : clearLength ?? encryptedLength
    }

    /// The bytes of the file that ``measure(_:key:)`` needs, 32 at most; nil if the length is known.
    package var tail: Range<Int64>? {
        clearLength == nil ? start + max(0, encryptedLength - 32)..<start + encryptedLength : nil
    }

    /// Reads the length from the padding.
    ///
    /// - Parameters:
    ///   - tail: the bytes of ``tail``.
    ///   - key: the content key.
    /// - Throws: `Malformed` if the padding is wrong: another key, or altered bytes; `CryptoError` `keyLength`.
    package mutating func measure(_ tail: [UInt8], key: Secret) throws {
        guard let range = self.tail else { return }
        guard tail.count == range.count, tail.count >= 16 else { throw Malformed("data ended early", at: Int(start)) }
        try Self.checkLength(of: key)
        var block = Array(tail.suffix(16))
        var stream = try AESStream(.chainedDecrypt, key: key)
        stream.start(tail.count == 32 ? AESBlock(tail.rawSpan.extracting(first: 16)) ?? iv : iv)
        var span = block.mutableSpan
        var bytes = unsafe span.mutableBytes
        stream.apply(to: &bytes, in: 0..<16)
        let padding = Int64(block[15])
        let length = encryptedLength - padding
        guard (1...16).contains(padding), block.suffix(Int(padding)).allSatisfy({ $0 == block[15] }) else { throw wrongPadding }
        clearLength = length
    }

    /// AES with a longer key would produce wrong bytes.
    private static func checkLength(of key: Secret) throws(CryptoError) {
        guard key.count == 16 else {
            throw CryptoError(.keyLength, "AES-128 has keys of 16 bytes, and this one has \(key.count)")
        }
    }

    /// Forgets the length, so that the padding is read.
    mutating func forgetLength() { if isPadded { clearLength = nil } }

    /// A range of the clear bytes, cut to those that exist.
    package func clamped(_ clear: Range<Int64>) -> Range<Int64> { clear.clamped(to: 0..<(clearLength ?? 0)) }

    /// The bytes of the file that hold a range of the clear bytes: whole blocks, of CBC with the block before them.
    ///
    /// - Parameter clear: a range of the clear bytes; it is limited to the existing ones.
    /// - Returns: a range of the file, 47 bytes longer than the clear range at most.
    package func range(holding clear: Range<Int64>) -> Range<Int64> {
        let clear = clamped(clear)
        guard !clear.isEmpty else { return start..<start }
        let block = clear.lowerBound & ~15
        switch cipher {
        case .none: return start + clear.lowerBound..<start + clear.upperBound
        case .counter: return start + block..<start + clear.upperBound
        case .cbc:
            // include the last block, so that its padding is checked
            let end = clear.upperBound == clearLength && isPadded ? encryptedLength : (clear.upperBound + 15) & ~15
            return start + max(0, block - 16)..<start + end
        }
    }

    /// Decrypts a range in place.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of ``range(holding:)``; they are changed.
    ///   - clear: the range of clear bytes that they contain.
    ///   - key: the content key; not used without encryption.
    /// - Returns: the range of the clear bytes in `bytes`.
    /// - Throws: `Malformed` if bytes are missing or the padding is wrong: another key, or altered bytes; `CryptoError`
    ///   `keyLength`.
    package func decrypt(_ bytes: inout [UInt8], holding clear: Range<Int64>, key: Secret?) throws -> Range<Int> {
        let range = range(holding: clear)
        let clear = clamped(clear)
        guard bytes.count == range.count else { throw Malformed("data ended early", at: Int(range.lowerBound) + bytes.count) }
        guard cipher != .none, !clear.isEmpty else { return 0..<bytes.count }
        guard let key else { throw CryptoError(.keyLength, "the content is encrypted: a key is needed") }
        try Self.checkLength(of: key)
        let block = clear.lowerBound & ~15
        let skipped = Int(start + block - range.lowerBound)
        let lead = skipped + Int(clear.lowerBound - block)
        let places = lead..<lead + clear.count
        var stream = try AESStream(cipher == .cbc ? .chainedDecrypt : .counter, key: key)
        let before = skipped == 16 ? AESBlock(bytes.rawSpan.extracting(first: 16)) : nil
        do {
            var span = bytes.mutableSpan
            var raw = unsafe span.mutableBytes
            if cipher == .cbc {
                stream.start(before ?? iv)
                stream.apply(to: &raw, in: skipped..<raw.byteCount)
            } else {
                stream.count(&raw, from: iv, block: UInt64(block / 16), counterWidth)
            }
        }
        if isPadded, clear.upperBound == clearLength {
            let padding = bytes.count - places.upperBound
            guard bytes[places.upperBound...].allSatisfy({ Int($0) == padding }) else { throw wrongPadding }
        }
        return places
    }

    /// Decrypts a range.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of ``range(holding:)``.
    ///   - clear: the range of clear bytes that they contain.
    ///   - key: the content key; not used without encryption.
    /// - Returns: the clear bytes.
    /// - Throws: the errors of the in-place method.
    package func decrypt(_ bytes: consuming [UInt8], holding clear: Range<Int64>, key: Secret?) throws -> [UInt8] {
        let places: Range<Int> = try decrypt(&bytes, holding: clear, key: key)
        return places.count == bytes.count ? bytes : Array(bytes[places])
    }

    private var wrongPadding: Malformed {
        Malformed("padding is wrong (another key, or altered bytes)", at: Int(start + max(0, encryptedLength - 16)))
    }
}

extension AESStream {
    /// Applies the counter of a block to all of `bytes`.
    mutating func count(_ bytes: inout MutableRawSpan, from iv: AESBlock, block: UInt64, _ width: EncryptedPayload.CounterWidth) {
        guard width == .all128 else {
            start(iv.advanced(by: block))
            return apply(to: &bytes, in: 0..<bytes.byteCount)
        }
        var counter = iv.carried(by: block)
        var at = 0
        // the low half of the counter wraps: start a new stream there
        while at < bytes.byteCount {
            let room = UInt64.max - counter.low
            let rest = bytes.byteCount - at
            let step = room >= 1 << 50 ? rest : min(rest, Int(room + 1) * 16)
            start(counter)
            apply(to: &bytes, in: at..<at + step)
            counter = counter.carried(by: UInt64((step + 15) / 16))
            at += step
        }
    }
}
