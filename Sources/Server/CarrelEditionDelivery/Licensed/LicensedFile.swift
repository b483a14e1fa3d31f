// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelRights
import CarrelStore
import CarrelWorks

/// The protected file of an edition (OMA DCF): a head, the contents in AES-128-CTR, and a box with their integrity tags. Only the
/// contents and the tags are stored.
///
/// The initialization vector is derived from the key and the contents, so that every server sends the same bytes, and no two
/// contents share a counter.
struct LicensedFile: Sendable {
    /// The edition in the version that the file is of.
    let edition: Edition
    /// Its contents.
    let media: OpenFile
    let key: Secret
    let iv: AESBlock
    /// The head of the one object, up to the initialization vector.
    let objectHead: [UInt8]
    /// The bytes before the encrypted contents.
    let head: [UInt8]

    /// - Parameters:
    ///   - edition: the edition.
    ///   - media: its contents.
    ///   - id: the id of the content key, by which players find it.
    ///   - key: the content key, 16 bytes.
    /// - Throws: `dcf.header`.
    init(_ edition: Edition, media: OpenFile, id: KeyID, key: Secret) throws {
        (self.edition, self.media, self.key) = (edition, media, key)
        iv = Self.iv(key, contents: edition.mediaBlob)
        objectHead = try DCFObjectHead(
            contentType: edition.clearFile.type,
            DCFHeaders(cipher: .counter, contentID: "cid:\(id.hex)"),
            userData: DCFUserDataEntry.title(edition.title.metadata.title),
            length: edition.byteCount
        ).bytes
        head = DCFObjectHead.fileType + objectHead + iv.bytes
    }

    /// The counter of the first block. The highest bit of its low half is 0, so that it never carries.
    private static func iv(_ key: Secret, contents: String) -> AESBlock {
        let derived = HKDF.sha256(secret: key, salt: [], info: "carrel dcf iv\n\(contents)", count: 16)
        let (high, low) = derived.withBytes { ($0.u64(at: 0), $0.u64(at: 8)) }
        return AESBlock(high: high, low: low & (UInt64.max >> 1))
    }

    /// Names all bytes of the file: they follow from its head, because the vector in it is of the key and the contents.
    var digest: String { Hex.encode(SHA256.hash(head.rawSpan)) }

    /// The offset of the box of tags.
    var tagsOffset: Int64 { Int64(head.count) + edition.byteCount }

    /// Computes the tags of the encrypted contents. Reads all of them, so it takes its time.
    ///
    /// - Returns: the tags, 16 bytes for each 64 KiB.
    /// - Throws: `store.damaged` if the contents are not what their name says; the errors of the file and the cipher.
    func tags() throws -> [UInt8] {
        var contents = try LicensedContents(of: self, from: 0)
        var tagger = try PayloadTagger(
            key: key,
            iv: iv,
            cipher: .counter,
            head: objectHead.rawSpan,
            encryptedLength: edition.byteCount
        )
        var clear = SHA256.Stream()
        var offset: Int64 = 0
        while offset < edition.byteCount {
            let end = min(edition.byteCount, offset + Self.pieceLength)
            let piece = try media.read(offset..<end)
            clear.update(piece.rawSpan)
            let encrypted = contents.encrypt(piece)
            tagger.append(encrypted.rawSpan)
            offset = end
        }
        guard Hex.encode(clear.finish()) == edition.mediaBlob else {
            throw StoreError(.damaged, "the blob \(edition.mediaBlob) of \(edition.productID) is not what its name says")
        }
        return tagger.finish()
    }

    /// Bytes that are read and encrypted together.
    private static let pieceLength: Int64 = 1 << 18
}

/// Encrypts the contents of a protected file in their order.
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
        cipher.start(file.iv.advanced(by: UInt64(offset / 16)))
        // the part of the first block before the offset
        _ = encrypt([UInt8](repeating: 0, count: Int(offset % 16)))
    }

    /// Encrypts the next bytes.
    mutating func encrypt(_ clear: [UInt8]) -> [UInt8] {
        var bytes = clear
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        cipher.apply(to: &raw, in: 0..<raw.byteCount)
        return bytes
    }

    /// Reads the next bytes, and appends them encrypted, while there is room.
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
