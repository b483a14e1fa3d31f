// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// The box after an object that protects its content from change, which OMA DCF itself does not: one GMAC tag for each 64 KiB of
/// ciphertext.
///
/// ```text
/// uuid f0e8369a-9913-4bff-bf2e-e3fef46d19d6      directly after the box odrm (ISO/IEC 14496-12 §4.2)
///   u8  1                                       version
///   u24 0
///   u32 65536                                   bytes of a block
///   u64 n                                       blocks: at least one, the last may be shorter
///   n × 16 bytes                                their tags
/// ```
///
/// The tag of a block is GMAC with AES-128 (NIST SP 800-38D) of its ciphertext, in CBC with the 16 bytes before it, which its
/// decryption needs. The nonce is the block's index from 0 (u64), then 1 for the last block and 0 for others (u32). The key is
/// HKDF-SHA256 (RFC 5869) of the content key; the salt is the initialization vector; the info is `carrel dcf tags 1` and SHA-256 of
/// the object's head: its bytes from the start of `odrm` to the initialization vector.
package enum PayloadTags {
    /// The extended type of the box.
    package static let boxType: [UInt8] = [
        0xf0, 0xe8, 0x36, 0x9a, 0x99, 0x13, 0x4b, 0xff, 0xbf, 0x2e, 0xe3, 0xfe, 0xf4, 0x6d, 0x19, 0xd6,
    ]
    /// Bytes of ciphertext under one tag.
    package static let blockLength: Int64 = 1 << 16
    /// Bytes of a tag.
    package static let tagLength = GMAC.tagByteCount
    /// Bytes of the content of the box before the tags, after the extended type.
    package static let headerLength = 16
    /// Bytes of an object's head, at most: twice the limit of its headers.
    package static let headLimit: Int64 = 2 << 20

    /// The number of blocks of a ciphertext; an empty one has one, empty block.
    package static func blockCount(of encryptedLength: Int64) -> Int64 {
        max(1, (encryptedLength - 1) / blockLength + 1)
    }

    /// The length of the box, tags included.
    package static func boxLength(of encryptedLength: Int64) -> Int64 {
        Int64(16 + boxType.count + headerLength) + blockCount(of: encryptedLength) * Int64(tagLength)
    }

    /// The bytes of the box before its tags.
    ///
    /// - Parameter encryptedLength: bytes of the ciphertext, without the initialization vector.
    /// - Returns: the header of the box, its extended type, and the fields before the tags.
    package static func boxHead(of encryptedLength: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(1))
        bytes += Array("uuid".utf8)
        bytes.append(bigEndian: UInt64(boxLength(of: encryptedLength)))
        bytes += boxType
        bytes.append(bigEndian: UInt32(1) << 24)
        bytes.append(bigEndian: UInt32(blockLength))
        bytes.append(bigEndian: UInt64(blockCount(of: encryptedLength)))
        return bytes
    }

    /// The key of the tags of an object.
    ///
    /// - Parameters:
    ///   - contentKey: the content key.
    ///   - iv: the object's initialization vector.
    ///   - headDigest: SHA-256 of the object's head.
    /// - Returns: 16 bytes.
    package static func key(_ contentKey: Secret, iv: AESBlock, headDigest: [UInt8]) -> Secret {
        let info = Array("carrel dcf tags 1".utf8) + headDigest
        return HKDF.sha256(secret: contentKey, salt: iv.bytes, info: info, count: GMAC.keyByteCount)
    }

    static func nonce(of block: Int64, isLast: Bool) -> [UInt8] {
        var nonce: [UInt8] = []
        nonce.append(bigEndian: UInt64(block))
        nonce.append(bigEndian: UInt32(isLast ? 1 : 0))
        return nonce
    }
}

/// The location of an object's tags in its file.
package struct PayloadTagTable: Sendable, Hashable {
    /// The offset of the first tag.
    package let start: Int64
    /// The number of tags.
    package let count: Int64
    /// The object's head, whose digest the key of the tags contains.
    package let head: Range<Int64>

    /// Reads the content of the box after its extended type.
    ///
    /// - Parameters:
    ///   - header: its first 16 bytes.
    ///   - content: the range of the content in the file, after the extended type.
    ///   - head: the range of the object's head.
    ///   - encryptedLength: bytes of the object's ciphertext.
    /// - Throws: `Malformed` with the fault and its offset in the file.
    init(_ header: RawSpan, content: Range<Int64>, head: Range<Int64>, encryptedLength: Int64) throws(Malformed) {
        let place = Int(content.lowerBound)
        guard header.byteCount == PayloadTags.headerLength else { throw Malformed("tags are cut off", at: place) }
        guard header.u32(at: 0) == 1 << 24 else { throw Malformed("tags have an unknown version", at: place) }
        guard header.u32(at: 4) == UInt32(PayloadTags.blockLength) else {
            throw Malformed("tags are of blocks of another length", at: place + 4)
        }
        count = PayloadTags.blockCount(of: encryptedLength)
        guard header.u64(at: 8) == UInt64(count) else { throw Malformed("number of tags does not fit the data", at: place + 8) }
        start = content.lowerBound + Int64(PayloadTags.headerLength)
        guard (content.upperBound - start) / Int64(PayloadTags.tagLength) == count,
            (content.upperBound - start) % Int64(PayloadTags.tagLength) == 0
        else { throw Malformed("tags do not fill their box", at: place) }
        guard head.upperBound - head.lowerBound <= PayloadTags.headLimit else {
            throw Malformed("headers of an object with tags are too large", at: Int(head.lowerBound))
        }
        self.head = head
    }

    /// The bytes of the file that hold the tags of some blocks.
    package func range(of blocks: Range<Int64>) -> Range<Int64> {
        let length = Int64(PayloadTags.tagLength)
        return start + blocks.lowerBound * length..<start + blocks.upperBound * length
    }
}
