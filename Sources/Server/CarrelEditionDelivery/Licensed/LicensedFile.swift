// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelRights
import CarrelWebAPI
import CarrelWorks

/// The protected file of an edition (OMA DCF): a head, the contents in AES-128-CTR, and a box with their integrity tags. Only the
/// contents and the tags are stored.
///
/// The initialization vector is derived from the key and the contents, so that every server sends the same bytes, and no two
/// contents share a counter.
struct LicensedFile: Sendable {
    /// The edition in the version that the file is of.
    let edition: Edition
    let key: Secret
    let iv: AESBlock
    /// The bytes before the encrypted contents.
    let head: [UInt8]
    /// The offset of the object's first byte in the head, and the length of the object's head.
    let media: OpenFile

    /// - Parameters:
    ///   - edition: the edition.
    ///   - media: its contents.
    ///   - id: the id of the content key, by which players find it.
    ///   - key: the content key, 16 bytes.
    /// - Throws: `dcf.header` for a title that does not fit into the head.
    init(_ edition: Edition, media: OpenFile, id: KeyID, key: Secret) throws {
        let iv = Self.iv(key, contents: edition.mediaBlob)
        let sink = HeadSink()
        var writer = try DCFWriter(sink) { iv }
        try writer.begin(
            contentType: edition.clearFile.type,
            DCFHeaders(cipher: .counter, contentID: "cid:\(id.hex)"),
            userData: DCFUserDataEntry.title(edition.title.metadata.title),
            length: edition.byteCount,
            key: key
        )
        (self.edition, self.media, self.key, self.iv, head) = (edition, media, key, iv, sink.bytes)
    }

    /// The counter of the first block. The highest bit of its low half is 0, so that it never carries.
    private static func iv(_ key: Secret, contents: String) -> AESBlock {
        let derived = HKDF.sha256(secret: key, salt: [], info: "carrel dcf iv\n\(contents)", count: 16)
        let (high, low) = derived.withBytes { ($0.u64(at: 0), $0.u64(at: 8)) }
        return AESBlock(high: high, low: low & (UInt64.max >> 1))
    }

    /// Names the bytes of the whole file: they follow from its head and the contents, whose digest is in the vector.
    var digest: String { Hex.encode(SHA256.hash(head.rawSpan)) }

    /// Bytes of the head and the encrypted contents.
    var length: Int64 { Int64(head.count) + edition.byteCount }

    /// Collects the bytes of a head.
    private final class HeadSink: DCFSink {
        private(set) var bytes: [UInt8] = []

        func write(_ span: RawSpan) { bytes.append(copying: span) }

        func overwrite(_ span: RawSpan, at offset: Int64) { preconditionFailure("the length of an edition is known") }
    }
}

/// Encrypts the contents of a protected file in the order in which they are read.
struct LicensedContents: ~Copyable {
    private let media: OpenFile
    private var cipher: AESStream
    /// The offset of the next byte in the contents.
    private var offset: Int64

    /// - Parameters:
    ///   - file: the file.
    ///   - offset: the first byte of the contents to encrypt.
    /// - Throws: `CryptoError` `refused`.
    init(of file: LicensedFile, from offset: Int64) throws(CryptoError) {
        media = file.media
        cipher = try AESStream(.counter, key: file.key)
        self.offset = offset
        cipher.start(file.iv.carried(by: UInt64(offset / 16)))
        // the part of the first block before the offset
        var skipped = [UInt8](repeating: 0, count: Int(offset % 16))
        var span = skipped.mutableSpan
        var bytes = unsafe span.mutableBytes
        cipher.apply(to: &bytes, in: 0..<bytes.byteCount)
    }

    /// Appends the next bytes, encrypted, while there is room.
    ///
    /// - Parameters:
    ///   - end: the offset in the contents to end before.
    ///   - out: the room for the bytes.
    /// - Throws: ``HTTPError`` if the contents are shorter than they were.
    mutating func read(upTo end: Int64, into out: inout OutputRawSpan) throws {
        let before = out.byteCount
        try media.read(offset..<end, into: &out)
        let count = out.byteCount
        var bytes = out.mutableBytes
        cipher.apply(to: &bytes, in: before..<count)
        offset += Int64(count - before)
    }
}
