// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Makes the tags of an object's ciphertext, which comes in pieces of any length. Holds the tags, 1/4096 of the ciphertext, and no
/// other byte of it.
///
/// ```swift
/// var tagger = try PayloadTagger(key: key, iv: iv, cipher: .counter, head: head.rawSpan, encryptedLength: length)
/// tagger.append(ciphertext)
/// let tags = tagger.finish()
/// ```
package struct PayloadTagger: ~Copyable {
    private var mac: GMAC
    private let encryptedLength: Int64
    private let isChained: Bool
    /// The 16 bytes before the next one, in CBC.
    private var previous: [UInt8]
    private var offset: Int64 = 0
    private var tags: [UInt8] = []

    /// - Parameters:
    ///   - key: the content key.
    ///   - iv: the object's initialization vector.
    ///   - cipher: how the content is encrypted.
    ///   - head: the bytes of the object before the initialization vector.
    ///   - encryptedLength: bytes of ciphertext that come.
    /// - Throws: `CryptoError` `refused`.
    package init(key: Secret, iv: AESBlock, cipher: DCFCipher, head: RawSpan, encryptedLength: Int64) throws(CryptoError) {
        mac = try GMAC(key: PayloadTags.key(key, iv: iv, headDigest: SHA256.hash(head)))
        self.encryptedLength = encryptedLength
        isChained = cipher == .cbc
        previous = iv.bytes
        begin()
    }

    private mutating func begin() {
        let block = offset / PayloadTags.blockLength
        mac.start(nonce: PayloadTags.nonce(of: block, isLast: block == PayloadTags.blockCount(of: encryptedLength) - 1))
        guard isChained else { return }
        let bytes = previous
        mac.update(bytes.rawSpan)
    }

    /// Takes the next bytes of the ciphertext. Traps if they exceed the announced length.
    package mutating func append(_ ciphertext: RawSpan) {
        precondition(Int64(ciphertext.byteCount) <= encryptedLength - offset, "the ciphertext is longer than announced")
        var at = 0
        while at < ciphertext.byteCount {
            let room = PayloadTags.blockLength - offset % PayloadTags.blockLength
            let step = min(ciphertext.byteCount - at, Int(room))
            let piece = ciphertext.extracting(at..<at + step)
            mac.update(piece)
            if isChained { note(piece) }
            at += step
            offset += Int64(step)
            if Int64(step) == room {
                tags += mac.finish()
                if offset < encryptedLength { begin() }
            }
        }
    }

    /// Keeps the last 16 bytes.
    private mutating func note(_ piece: RawSpan) {
        if piece.byteCount < 16 { previous.removeFirst(piece.byteCount) } else { previous.removeAll(keepingCapacity: true) }
        previous.append(copying: piece.extracting(last: min(16, piece.byteCount)))
    }

    /// Ends the ciphertext. Traps if it is shorter than announced.
    ///
    /// - Returns: the tags, 16 bytes for each block.
    package consuming func finish() -> [UInt8] {
        precondition(offset == encryptedLength, "the ciphertext is shorter than announced")
        if tags.count < Int(PayloadTags.blockCount(of: encryptedLength)) * PayloadTags.tagLength { tags += mac.finish() }
        return tags
    }
}
