// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// The clear bytes of an encrypted payload as a file of their own: any range, in memory that grows with the range alone.
package struct ClearPayloadReader: ByteReader {
    /// The file that holds the payload.
    private let reader: any ByteReader
    private let payload: EncryptedPayload
    private let key: Secret?
    private let tags: (check: PayloadTagCheck, table: PayloadTagTable)?

    /// Bytes in the clear.
    package let length: Int64

    /// - Parameters:
    ///   - payload: the payload of the file.
    ///   - reader: the file.
    ///   - key: the content key; not needed without encryption.
    ///   - table: the tags of the payload, which are checked; nil if there are none.
    /// - Throws: the errors of the reader; `Malformed` if the length is read from the padding and that is wrong; `CryptoError`
    ///   `keyLength`.
    package init(
        _ payload: EncryptedPayload,
        of reader: any ByteReader,
        key: Secret?,
        tags table: PayloadTagTable? = nil
    ) throws {
        var payload = payload
        if let tail = payload.tail {
            guard let key else { throw DCFError(.key, "the content is encrypted: a key is needed") }
            try payload.measure(reader.readAll(tail), key: key)
        }
        self.reader = reader
        self.payload = payload
        self.key = key
        length = payload.clearLength ?? 0
        guard let table, let key else {
            tags = nil
            return
        }
        let head = try reader.readAll(table.head)
        tags = (PayloadTagCheck(payload, key: key, headDigest: SHA256.hash(head.rawSpan)), table)
    }

    /// The bytes for the decryption of a range, checked if there are tags.
    private func encrypted(_ clear: Range<Int64>) throws -> [UInt8] {
        guard let tags else { return try reader.readAll(payload.range(holding: clear)) }
        let blocks = tags.check.blocks(holding: clear)
        var bytes = try reader.readAll(tags.check.range(of: blocks))
        let list = try reader.readAll(tags.table.range(of: blocks))
        try tags.check.verify(blocks, bytes.rawSpan, tags: list.rawSpan)
        try tags.check.trim(&bytes, of: blocks, to: clear)
        return bytes
    }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        try payload.decrypt(encrypted(range), holding: range, key: key)
    }

    /// Passes all clear bytes on, in order.
    ///
    /// - Parameters:
    ///   - piece: bytes of one piece, at most.
    ///   - body: gets each piece.
    /// - Throws: the errors of the reader or `body`; `dcf.integrity`, before a changed piece is passed on; `Malformed` if the padding is wrong, before the last piece is passed on.
    package func forEachPiece(of piece: Int = 1 << 18, _ body: (RawSpan) throws -> Void) throws {
        var at: Int64 = 0
        while at < length {
            let end = min(length, at + Int64(max(16, piece)))
            var bytes = try encrypted(at..<end)
            let places: Range<Int> = try payload.decrypt(&bytes, holding: at..<end, key: key)
            try body(bytes.rawSpan.extracting(places))
            at = end
        }
        // an empty content has padding too
        if length == 0 {
            if let tags {
                let data = try reader.readAll(tags.check.range(of: 0..<1))
                let list = try reader.readAll(tags.table.range(of: 0..<1))
                try tags.check.verify(0..<1, data.rawSpan, tags: list.rawSpan)
            }
            guard payload.isPadded else { return }
            try payload.checkEmpty(reader.readAll(payload.start..<payload.start + payload.encryptedLength), key)
        }
    }
}

extension EncryptedPayload {
    /// Checks the padding of an empty content, which is all there is of it.
    func checkEmpty(_ bytes: [UInt8], _ key: Secret?) throws {
        var copy = self
        copy.forgetLength()
        guard let key else { throw DCFError(.key, "the content is encrypted: a key is needed") }
        try copy.measure(bytes, key: key)
        guard copy.clearLength == 0 else { throw Malformed("padding is wrong (another key, or altered bytes)", at: Int(start)) }
    }
}
