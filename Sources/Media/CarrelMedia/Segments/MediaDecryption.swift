// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelDCF
package import CarrelMP4
import CarrelThreads

/// Decrypts one file of any protection that Carrel opens, with keys requested in advance.
///
/// ```swift
/// let decryption = try await MediaDecryption(of: file, keys: keys)
/// try decryption.write(to: &output) { done in bar.advance(to: done) }  // reads and writes: not on threads that run tasks
/// ```
public struct MediaDecryption: Sendable {
    /// The form of the output.
    public enum Output: Sendable, Hashable {
        /// The form of the input: MP4, or the payload of a DCF.
        case same
        /// An MPEG-2 transport stream.
        case transportStream
    }

    private enum Work: Sendable {
        case payload(DCFObject, Secret?)
        case copy(ContentKeys)
        case samples(FileProtection)
        case transport(FileProtection)
        case playlist(PlaylistSegments, Output)
        case scrambled(ScrambledStream)
    }

    private let reader: any ByteReader & Sendable
    private let work: Work
    /// The source of the keys, which moves and ends them while it exists.
    private let keys: any ContentKeySource
    /// The threads that probe files and wait for their keys.
    private static let reading = BlockingExecutor(name: "media-read", count: 4)
    /// Bytes of the segments of a playlist.
    private var playlistLength: Int64?
    /// The key of a DCF's object, with the evidence from its clear bytes.
    private var payloadEvidence = KeyEvidence()

    /// Probes a file and requests its keys. Files are read on dedicated threads, not on the threads that run tasks.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - output: the form of the output.
    ///   - object: the object of a DCF, from 1.
    ///   - source: the key source.
    ///   - now: the time by which keys expire.
    /// - Throws: `unsupported` if nothing in the file is protected, Carrel does not open its protection, or it cannot have that
    ///   output; `missingKey`, `refusedKey`, `wrongKey`; `outputControl` and `expiredKey` for keys that may not be used for plain
    ///   files; `Malformed`, and the errors of the reader.
    package init(
        of reader: any ByteReader & Sendable,
        as output: Output = .same,
        object: Int = 1,
        keys source: some ContentKeySource,
        now: Instant = .now()
    ) async throws {
        self = try await Self.reading.run {
            try await MediaDecryption(reading: reader, as: output, object: object, keys: source, now: now)
        }
    }

    /// Probes a file and requests its keys, on threads that may block.
    private init(
        reading reader: any ByteReader & Sendable,
        as output: Output,
        object: Int,
        keys source: some ContentKeySource,
        now: Instant
    ) async throws {
        self.reader = reader
        keys = source
        if let file = reader as? LocalFile, try PlaylistSegments.isPlaylist(file) {
            let playlist = try await PlaylistSegments(file, from: source)
            try playlist.checkPlainOutput(at: now)
            let joined = try playlist.transportStream()
            if let joined, let stream = try await ScrambledStream(joined, from: source) {
                try stream.checkPlainOutput(at: now)
                work = .scrambled(stream)
            } else {
                work = .playlist(playlist, output)
                playlistLength = try? playlist.length()
            }
            return
        }
        if try ScrambledStream.isTransportStream(reader) {
            guard let stream = try await ScrambledStream(reader, from: source) else {
                throw MediaError(.unsupported, "no packet of the stream is scrambled")
            }
            try stream.checkPlainOutput(at: now)
            work = .scrambled(stream)
            return
        }
        if try Self.isDCF(reader) {
            guard output == .same else { throw MediaError(.unsupported, "the payload of a DCF is written as it is") }
            let (object, key) = try await Self.object(of: reader, object, source, at: now)
            work = .payload(object, key)
            return
        }
        let file = try MP4File(reader)
        let protection = try await FileProtection(file, from: source)
        try protection.keys.checkPlainOutput(at: now)
        if output == .transportStream {
            work = .transport(protection)
            return
        }
        guard !protection.tracks.isEmpty else { throw MediaError(.unsupported, "no track is protected") }
        work = protection.whole.isEmpty ? .copy(protection.keys) : .samples(protection)
    }

    private static func isDCF(_ reader: any ByteReader) throws -> Bool {
        guard reader.length >= 12 else { return false }
        let head = try reader.readAll(0..<12)
        return head.rawSpan.matches("ftyp", at: 4) && head.rawSpan.matches("odcf", at: 8)
    }

    private static func object(
        of reader: any ByteReader,
        _ number: Int,
        _ source: some ContentKeySource,
        at now: Instant
    ) async throws -> (DCFObject, Secret?) {
        let file = try DCFFile(reader)
        guard number >= 1, number <= file.objects.count else {
            throw MediaError(.malformed, "the file has \(file.objects.count) objects, and no object \(number)")
        }
        let object = file.objects[number - 1]
        guard object.payload.cipher != .none else { return (object, nil) }
        let grant = try await ContentKeyGrant.content(of: object, from: source)
        try grant.checkPlainOutput("content id \(object.headers.contentID)", at: now)
        return (object, grant.key)
    }

    /// The names of the used keys that the clear bytes do not prove right; valid after the output is written. Some codings have
    /// no check: raw AAC with `SAMPLE-AES`, Opus, and video whose slices end in the clear.
    public var unverifiedKeys: [String] {
        switch work {
        case .payload: payloadEvidence.unverified
        case .copy(let keys): keys.evidence.unverified
        case .samples(let protection), .transport(let protection): protection.keys.evidence.unverified
        case .playlist(let playlist, _): playlist.evidence.unverified
        case .scrambled(let stream): stream.evidence.unverified
        }
    }

    /// Whether the output is a transport stream or audio without a container, which no MP4 file is.
    ///
    /// - Throws: the errors of the reader; `wrongKey`.
    package func isStream() throws -> Bool {
        switch work {
        case .payload, .copy, .samples: false
        case .transport, .scrambled: true
        case .playlist(let playlist, let output): try output == .transportStream || PlaylistDecryption(playlist).isStream()
        }
    }

    /// The maximum of `progress`; nil if unknown.
    public var totalLength: Int64? {
        switch work {
        case .payload(let object, _): object.payload.clearLength
        case .copy: reader.length
        case .scrambled(let stream): stream.length
        case .playlist: playlistLength
        case .samples, .transport: nil
        }
    }

    /// Writes the output. Blocks.
    ///
    /// - Parameters:
    ///   - sink: gets the output.
    ///   - progress: gets how much of `totalLength` is done, or of the input if that is nil; it may throw to end the work.
    /// - Returns: the tracks that were left out because the output cannot hold them: each with the reason, as a lower-case
    ///   phrase.
    /// - Throws: the errors of the reader and the sink; `Malformed`, `wrongKey`, `missingKey`, `unsupported`.
    @discardableResult
    public func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void = { _ in }) throws -> [String] {
        do {
            return try writeOutput(to: &sink, progress: progress)
        } catch let error as CryptoError where error.code == .keyLength {
            throw MediaError(.wrongKey, error.message)
        } catch let error as DCFError where error.code == .integrity {
            throw MediaError(.altered, error.message)
        }
    }

    private func writeOutput(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws -> [String] {
        switch work {
        case .payload(let object, let key):
            var done: Int64 = 0
            let digest = key.map { payloadEvidence.use($0, "the object") }
            try ClearPayloadReader(object.payload, of: reader, key: key, tags: object.tags).forEachPiece { piece in
                if done == 0, let digest, ClearHead(piece).bits > 0 { payloadEvidence.verify(digest) }
                try sink.write(piece)
                done += Int64(piece.byteCount)
                try progress(done)
            }
        case .copy(let keys):
            var copy = try ClearCopy(try MP4File(reader), keys: keys)
            try copy.write(to: &sink, progress: progress)
        case .scrambled(let stream): try stream.write(to: &sink, progress: progress)
        case .playlist(let playlist, let output):
            var decryption = PlaylistDecryption(playlist, isTransportStream: output == .transportStream)
            return try decryption.write(to: &sink, progress: progress)
        case .samples(let protection):
            // the header of its media is written last
            guard !sink.isSequential else {
                throw MediaError(
                    .unsupported,
                    "the samples get shorter, and the MP4 file is not written in order: write it to a file, or as a transport stream"
                )
            }
            var rewrite = try ClearRewrite(try MP4File(reader), protection)
            try rewrite.write(to: &sink, progress: progress)
        case .transport(let protection):
            return try FileRemux(try MP4File(reader), protection).write(to: &sink, progress: progress)
        }
        return []
    }
}
