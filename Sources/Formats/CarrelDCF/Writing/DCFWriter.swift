// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// Writes an OMA DCF object by object, in memory that does not depend on their lengths (OMA DRM Content Format 2.0).
///
/// ```swift
/// var writer = try DCFWriter(sink) { AESBlock(high: .random(in: 0...UInt64.max), low: .random(in: 0...UInt64.max)) }
/// try writer.begin(contentType: "text/plain", headers, length: nil, key: key)
/// try writer.append(bytes.rawSpan)
/// try writer.end()
/// let sink = try writer.finish()
/// ```
package struct DCFWriter<Sink: DCFSink>: ~Copyable {
    private var sink: Sink
    private let nextIV: () -> AESBlock
    private var position: Int64 = 0
    private var object: OpenObject?
    private var cipher: AESStream?
    private var held: [UInt8] = []

    /// The object that is being written.
    private struct OpenObject {
        var headers: DCFHeaders
        /// The length that the caller announced.
        var promised: Int64?
        var length: Int64 = 0
        /// Blocks encrypted so far.
        var blocks: UInt64 = 0
        var iv: AESBlock
        var start: Int64
        /// The offsets of the plaintext length, of `odda`, and of the encrypted bytes.
        var clearLengthAt: Int64
        var dataAt: Int64
        var payloadAt: Int64
    }

    /// Bytes that are encrypted together.
    private static var pieceLength: Int { 1 << 16 }

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - sink: gets the bytes.
    ///   - nextIV: returns a fresh initialization vector for each encrypted object. In CTR mode, the vectors of one key must be
    ///     further apart than the contents have blocks; random ones are.
    /// - Throws: the errors of the sink.
    package init(_ sink: Sink, nextIV: @escaping () -> AESBlock) throws {
        var sink = sink
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.fourCC("odcf")
            writer.u32(2)
            writer.fourCC("odcf")
        }
        try sink.write(writer.bytes.rawSpan)
        self.sink = sink
        self.nextIV = nextIV
        position = Int64(writer.bytes.count)
    }

    private mutating func emit(_ bytes: [UInt8]) throws {
        try sink.write(bytes.rawSpan)
        position += Int64(bytes.count)
    }

    /// Begins an object.
    ///
    /// - Parameters:
    ///   - contentType: its media type, at most 255 bytes.
    ///   - headers: its headers; `clearLength` is set here.
    ///   - userData: the boxes of its user data, whole; empty for none.
    ///   - length: bytes of its content; nil if they are counted on the way, which the sink must be able to write over.
    ///   - key: the content key, 16 bytes; nil for an object that is not encrypted.
    /// - Throws: the errors of the sink; `dcf.header`, `dcf.key`, or `CryptoError`.
    package mutating func begin(
        contentType: String,
        _ headers: DCFHeaders,
        userData: [UInt8] = [],
        length: Int64?,
        key: Secret?
    ) throws {
        precondition(object == nil, "an object is open")
        guard contentType.utf8.count <= 255 else { throw DCFError(.header, "content type: longer than 255 bytes") }
        guard (length ?? 0) >= 0, (length ?? 0) < 1 << 60 else { throw DCFError(.length, "content has an impossible length") }
        var headers = headers
        headers.isPadded = headers.cipher == .cbc
        headers.clearLength = length ?? 0
        let iv = headers.cipher == .none ? nil : nextIV()
        if let iv {
            guard let key, key.count == 16 else { throw DCFError(.key, "a content key has 16 bytes") }
            cipher = try AESStream(headers.cipher == .cbc ? .chainedEncrypt : .counter, key: key)
            cipher?.start(iv)
        }
        let (head, clearLengthAt) = try Self.head(contentType, headers, userData)
        var writer = BoxWriter()
        writer.u32(1)
        writer.fourCC("odrm")
        writer.u64(0)
        writer.u32(0)
        writer.append(head)
        let dataAt = writer.bytes.count
        writer.u32(1)
        writer.fourCC("odda")
        writer.u64(0)
        writer.u32(0)
        writer.u64(0)
        if let iv { writer.append(iv.bytes) }
        var bytes = writer.bytes
        let start = position
        let open = OpenObject(
            headers: headers,
            promised: length,
            iv: iv ?? AESBlock(high: 0, low: 0),
            start: start,
            clearLengthAt: start + 20 + Int64(clearLengthAt),
            dataAt: start + Int64(dataAt),
            payloadAt: start + Int64(bytes.count)
        )
        if let length {
            let payload = Self.payloadLength(length, headers.cipher)
            for (offset, value) in Self.lengths(open, payload: payload) {
                bytes.replaceSubrange(Int(offset - start)..<Int(offset - start) + 8, with: value)
            }
        }
        object = open
        try emit(bytes)
    }

    /// The box `odhe`, and the offset of the plaintext length in it.
    private static func head(_ contentType: String, _ headers: DCFHeaders, _ userData: [UInt8]) throws(DCFError) -> ([UInt8], Int)
    {
        var writer = BoxWriter()
        var lengthAt = 0
        try writer.fullBox("odhe") { writer throws(DCFError) in
            writer.u8(UInt8(contentType.utf8.count))
            writer.append(Array(contentType.utf8))
            lengthAt = writer.bytes.count
            lengthAt += try headers.write(to: &writer)
            if !userData.isEmpty { writer.box("udta") { $0.append(userData) } }
        }
        guard writer.bytes.count <= 1 << 20 else { throw DCFError(.header, "headers and user data: longer than 1 MiB") }
        return (writer.bytes, lengthAt)
    }

    /// The byte count after the data length: initialization vector, encrypted content, padding.
    private static func payloadLength(_ clear: Int64, _ cipher: DCFCipher) -> Int64 {
        switch cipher {
        case .none: clear
        case .counter: 16 + clear
        case .cbc: 16 + (clear / 16 + 1) * 16
        }
    }

    /// The four lengths of an object, each with its offset in the file.
    private static func lengths(_ object: OpenObject, payload: Int64) -> [(Int64, [UInt8])] {
        func bytes(_ value: Int64) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt64(value))
            return bytes
        }
        let data = 28 + payload
        return [
            (object.start + 8, bytes(object.dataAt - object.start + data)),
            (object.clearLengthAt, bytes(object.headers.clearLength)),
            (object.dataAt + 8, bytes(data)),
            (object.dataAt + 20, bytes(payload)),
        ]
    }

    /// Encrypts and writes the next bytes of the content.
    ///
    /// - Parameter clear: any number of bytes.
    /// - Throws: the errors of the sink; `dcf.length` if they are more than announced.
    package mutating func append(_ clear: RawSpan) throws {
        guard let promised = object.map({ $0.promised ?? Int64(1) << 60 }), let length = object?.length else {
            preconditionFailure("no object is open")
        }
        guard Int64(clear.byteCount) <= promised - length else { throw DCFError(.length, "the content is longer than announced") }
        object?.length += Int64(clear.byteCount)
        var at = 0
        while at < clear.byteCount {
            let step = min(Self.pieceLength - held.count, clear.byteCount - at)
            held.append(copying: clear.extracting(at..<at + step))
            at += step
            if held.count == Self.pieceLength { try flush() }
        }
    }

    /// Encrypts and writes the buffered bytes: in CBC mode, whole blocks.
    private mutating func flush() throws {
        var piece: [UInt8] = []
        swap(&piece, &held)
        if let object {
            var span = piece.mutableSpan
            var bytes = unsafe span.mutableBytes
            switch object.headers.cipher {
            case .none: break
            case .cbc: cipher?.apply(to: &bytes, in: 0..<bytes.byteCount)
            case .counter: cipher?.count(&bytes, from: object.iv, block: object.blocks, .all128)
            }
        }
        object?.blocks += UInt64(piece.count / 16)
        try emit(piece)
        piece.removeAll(keepingCapacity: true)
        held = piece
    }

    /// Ends the object.
    ///
    /// - Throws: the errors of the sink; `dcf.length` if the content is shorter than announced.
    package mutating func end() throws {
        guard var done = object else { preconditionFailure("no object is open") }
        if let promised = done.promised, promised != done.length {
            throw DCFError(.length, "the content is shorter than announced")
        }
        if done.headers.cipher == .cbc {
            let padding = 16 - held.count % 16
            held.append(contentsOf: repeatElement(UInt8(padding), count: padding))
        }
        try flush()
        if done.promised == nil {
            done.headers.clearLength = done.length
            for (offset, bytes) in Self.lengths(done, payload: Self.payloadLength(done.length, done.headers.cipher)) {
                try sink.overwrite(bytes.rawSpan, at: offset)
            }
        }
        object = nil
        cipher = nil
    }

    /// Writes an object whole.
    ///
    /// - Parameters:
    ///   - reader: its content.
    ///   - contentType: its media type.
    ///   - headers: its headers.
    ///   - userData: the boxes of its user data.
    ///   - key: the content key; nil for an object that is not encrypted.
    /// - Throws: the errors of the reader and the sink, and as `begin`.
    package mutating func write(
        _ reader: any ByteReader,
        contentType: String,
        _ headers: DCFHeaders,
        userData: [UInt8] = [],
        key: Secret?
    ) throws {
        let length = reader.length
        try begin(contentType: contentType, headers, userData: userData, length: length, key: key)
        var at: Int64 = 0
        while at < length {
            let bytes = try reader.readAll(at..<min(length, at + Int64(1 << 18)))
            try append(bytes.rawSpan)
            at += Int64(bytes.count)
        }
        try end()
    }

    /// Ends the file.
    ///
    /// - Parameter mutableInformation: embedded licenses; nil for none.
    /// - Returns: the sink.
    /// - Throws: the errors of the sink.
    package consuming func finish(_ mutableInformation: DCFMutableInformation? = nil) throws -> Sink {
        precondition(object == nil, "an object is open")
        if let box = mutableInformation?.box { try sink.write(box.rawSpan) }
        return sink
    }
}
