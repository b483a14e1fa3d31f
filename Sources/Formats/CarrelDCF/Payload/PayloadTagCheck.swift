// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Checks the ciphertext of an object against its tags. Reads nothing: the caller reads whole blocks and their tags.
///
/// ```swift
/// let blocks = check.blocks(holding: clear)
/// try check.verify(blocks, bytes(check.range(of: blocks)), tags: bytes(table.range(of: blocks)))
/// ```
package struct PayloadTagCheck: Sendable {
    private let payload: EncryptedPayload
    private let key: Secret

    /// - Parameters:
    ///   - payload: the object's payload.
    ///   - key: the content key.
    ///   - headDigest: SHA-256 of the object's head.
    package init(_ payload: EncryptedPayload, key: Secret, headDigest: [UInt8]) {
        self.payload = payload
        self.key = PayloadTags.key(key, iv: payload.iv, headDigest: headDigest)
    }

    /// The number of blocks.
    package var blockCount: Int64 { PayloadTags.blockCount(of: payload.encryptedLength) }

    /// The blocks that are needed to decrypt a range of the clear bytes.
    ///
    /// - Parameter clear: a range of the clear bytes; it is limited to the existing ones.
    /// - Returns: their numbers, from 0.
    package func blocks(holding clear: Range<Int64>) -> Range<Int64> {
        let range = payload.range(holding: clear)
        guard !range.isEmpty else { return 0..<0 }
        let first = payload.clamped(clear).lowerBound / PayloadTags.blockLength
        return first..<(range.upperBound - payload.start - 1) / PayloadTags.blockLength + 1
    }

    /// The bytes of the file that contain blocks; in CBC, the 16 bytes before them too.
    ///
    /// - Parameter blocks: existing blocks.
    /// - Returns: a range of the file.
    package func range(of blocks: Range<Int64>) -> Range<Int64> {
        guard !blocks.isEmpty else { return payload.start..<payload.start }
        let start = payload.start + blocks.lowerBound * PayloadTags.blockLength
        let end = min(payload.encryptedLength, blocks.upperBound * PayloadTags.blockLength)
        return start - (isChained && blocks.lowerBound > 0 ? 16 : 0)..<payload.start + end
    }

    /// Cuts the bytes of blocks to what the decryption of a range takes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of ``range(of:)``.
    ///   - blocks: the blocks.
    ///   - clear: a range of the clear bytes in them.
    /// - Throws: `dcf.integrity` if the blocks do not contain what the decryption takes.
    package func trim(_ bytes: inout [UInt8], of blocks: Range<Int64>, to clear: Range<Int64>) throws(DCFError) {
        let (whole, part) = (range(of: blocks), payload.range(holding: clear))
        guard bytes.count == whole.count, whole.lowerBound <= part.lowerBound, part.upperBound <= whole.upperBound else {
            throw DCFError(.integrity, "blocks of the data are missing")
        }
        bytes.removeLast(Int(whole.upperBound - part.upperBound))
        bytes.removeFirst(Int(part.lowerBound - whole.lowerBound))
    }

    private var isChained: Bool { payload.cipher == .cbc }

    /// Checks blocks.
    ///
    /// - Parameters:
    ///   - blocks: existing blocks.
    ///   - bytes: the bytes of ``range(of:)``.
    ///   - tags: their tags.
    /// - Throws: `dcf.integrity` if a block or its tag was changed, moved or is missing, or the key is another.
    package func verify(_ blocks: Range<Int64>, _ bytes: RawSpan, tags: RawSpan) throws(DCFError) {
        guard bytes.byteCount == range(of: blocks).count, tags.byteCount == blocks.count * PayloadTags.tagLength else {
            throw DCFError(.integrity, "blocks or tags of the data are missing")
        }
        let initial = payload.iv.bytes
        guard var mac = try? GMAC(key: key) else { throw DCFError(.integrity, "the tags cannot be checked: there is no memory") }
        var at = isChained && blocks.lowerBound > 0 ? 16 : 0
        for block in blocks {
            mac.start(nonce: PayloadTags.nonce(of: block, isLast: block == blockCount - 1))
            if isChained { mac.update(at == 0 ? initial.rawSpan : bytes.extracting(at - 16..<at)) }
            let end = min(bytes.byteCount, at + Int(PayloadTags.blockLength))
            mac.update(bytes.extracting(at..<end))
            at = end
            let tag = Int(block - blocks.lowerBound) * PayloadTags.tagLength
            guard constantTimeEqual(mac.finish().rawSpan, tags.extracting(tag..<tag + PayloadTags.tagLength)) else {
                throw DCFError(.integrity, "block \(block + 1) of \(blockCount) was changed or moved, or the key is another")
            }
        }
    }
}
