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

    /// Bytes in the clear.
    package let length: Int64

    /// - Parameters:
    ///   - payload: the payload of the file.
    ///   - reader: the file.
    ///   - key: the content key; not needed without encryption.
    /// - Throws: the errors of the reader; `Malformed` if the length is read from the padding and that is wrong; `CryptoError`
    ///   `keyLength`.
    package init(_ payload: EncryptedPayload, of reader: any ByteReader, key: Secret?) throws {
        var payload = payload
        if let tail = payload.tail {
            guard let key else { throw DCFError(.key, "the content is encrypted: a key is needed") }
            try payload.measure(reader.readAll(tail), key: key)
        }
        self.reader = reader
        self.payload = payload
        self.key = key
        length = payload.clearLength ?? 0
    }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        try payload.decrypt(reader.readAll(payload.range(holding: range)), holding: range, key: key)
    }

    /// Passes all clear bytes on, in order.
    ///
    /// - Parameters:
    ///   - piece: bytes of one piece, at most.
    ///   - body: gets each piece.
    /// - Throws: the errors of the reader or `body`; `Malformed` if the padding is wrong, before the last piece is passed on.
    package func forEachPiece(of piece: Int = 1 << 18, _ body: (RawSpan) throws -> Void) throws {
        var at: Int64 = 0
        while at < length {
            let end = min(length, at + Int64(max(16, piece)))
            var bytes = try reader.readAll(payload.range(holding: at..<end))
            let places: Range<Int> = try payload.decrypt(&bytes, holding: at..<end, key: key)
            try body(bytes.rawSpan.extracting(places))
            at = end
        }
        // an empty content has padding too
        if length == 0, payload.isPadded {
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
