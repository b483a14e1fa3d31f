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

    private var tagger: PayloadTagger?

    /// The object that is being written.
    private struct OpenObject {
        var head: DCFObjectHead
        var cipher: DCFCipher
        var start: Int64
        /// The length that the caller announced.
        var promised: Int64?
        var length: Int64 = 0
        /// Blocks encrypted so far.
        var blocks: UInt64 = 0
        var iv: AESBlock
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
        let fileType = DCFObjectHead.fileType
        try sink.write(fileType.rawSpan)
        self.sink = sink
        self.nextIV = nextIV
        position = Int64(fileType.count)
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
    ///   - isTagged: whether ``PayloadTags`` follow the object, which needs its length. They are held until its end: 16 bytes for
    ///     each 64 KiB.
    /// - Throws: the errors of the sink; `dcf.header`, `dcf.length`, `dcf.key`, or `CryptoError`.
    package mutating func begin(
        contentType: String,
        _ headers: DCFHeaders,
        userData: [UInt8] = [],
        length: Int64?,
        key: Secret?,
        isTagged: Bool = false
    ) throws {
        precondition(object == nil, "an object is open")
        let head = try DCFObjectHead(contentType: contentType, headers, userData: userData, length: length ?? 0)
        var bytes = head.bytes
        let iv = headers.cipher == .none ? nil : nextIV()
        if let iv {
            guard let key, key.count == 16 else { throw DCFError(.key, "a content key has 16 bytes") }
            cipher = try AESStream(headers.cipher == .cbc ? .chainedEncrypt : .counter, key: key)
            cipher?.start(iv)
            if isTagged {
                guard let length else { throw DCFError(.length, "tags need the length of the content in advance") }
                tagger = try PayloadTagger(
                    key: key,
                    iv: iv,
                    cipher: headers.cipher,
                    head: bytes.rawSpan,
                    encryptedLength: DCFObjectHead.encryptedLength(length, headers.cipher)
                )
            }
            bytes += iv.bytes
        }
        object = OpenObject(
            head: head,
            cipher: headers.cipher,
            start: position,
            promised: length,
            iv: iv ?? AESBlock(high: 0, low: 0)
        )
        try emit(bytes)
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
            switch object.cipher {
            case .none: break
            case .cbc: cipher?.apply(to: &bytes, in: 0..<bytes.byteCount)
            case .counter: cipher?.count(&bytes, from: object.iv, block: object.blocks, .all128)
            }
        }
        object?.blocks += UInt64(piece.count / 16)
        tagger?.append(piece.rawSpan)
        try emit(piece)
        piece.removeAll(keepingCapacity: true)
        held = piece
    }

    /// Ends the object.
    ///
    /// - Throws: the errors of the sink; `dcf.length` if the content is shorter than announced.
    package mutating func end() throws {
        guard let done = object else { preconditionFailure("no object is open") }
        if let promised = done.promised, promised != done.length {
            throw DCFError(.length, "the content is shorter than announced")
        }
        if done.cipher == .cbc {
            let padding = 16 - held.count % 16
            held.append(contentsOf: repeatElement(UInt8(padding), count: padding))
        }
        try flush()
        if done.promised == nil {
            for (at, bytes) in done.head.lengths(done.length) { try sink.overwrite(bytes.rawSpan, at: done.start + Int64(at)) }
        }
        object = nil
        cipher = nil
        if let tagger = tagger.take() {
            try emit(PayloadTags.boxHead(of: DCFObjectHead.encryptedLength(done.length, done.cipher)))
            try emit(tagger.finish())
        }
    }

    /// Writes an object whole.
    ///
    /// - Parameters:
    ///   - reader: its content.
    ///   - contentType: its media type.
    ///   - headers: its headers.
    ///   - userData: the boxes of its user data.
    ///   - key: the content key; nil for an object that is not encrypted.
    ///   - isTagged: whether tags follow the object.
    /// - Throws: the errors of the reader and the sink, and as `begin`.
    package mutating func write(
        _ reader: any ByteReader,
        contentType: String,
        _ headers: DCFHeaders,
        userData: [UInt8] = [],
        key: Secret?,
        isTagged: Bool = false
    ) throws {
        let length = reader.length
        try begin(contentType: contentType, headers, userData: userData, length: length, key: key, isTagged: isTagged)
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
