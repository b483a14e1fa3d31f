// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHLS
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelThreads
import CarrelTranscoding

/// A complete clear copy of a stream in a folder: the variant with the highest bit rate, and its audio if that is separate.
///
/// A proxy session reads the stream as a player would, and handles all manifest formats, keys and key checks.
struct StreamCopy: Sendable {
    /// The form of the files.
    enum Form {
        case transportStreams
        /// Fragmented MP4.
        case fragments
        /// The content of a DCF, without conversion.
        case content
    }

    private(set) var form = Form.transportStreams
    /// The paths, pictures first.
    private(set) var files: [String] = []
    /// Warnings about content that the files lack.
    private(set) var warnings: [String] = []
    /// Whether the stream declares protection.
    private(set) var isProtected = false
    private let folder: ScratchFolder
    private let client = HTTPClient()
    private let bar: ProgressBar
    private var done: Int64 = 0

    /// Bytes of a playlist of the session, at most.
    private static let playlistLimit: Int64 = 64 << 20
    /// Time limits of a segment: its source may be slow.
    private static let timeouts = ClientTimeouts(total: .seconds(600), stall: .seconds(120))

    /// Reads a stream to its end.
    ///
    /// - Parameters:
    ///   - source: the stream.
    ///   - servers: the options for requests to servers.
    ///   - keys: its keys.
    ///   - folder: gets the files.
    ///   - bar: shows the bytes.
    /// - Returns: the files.
    /// - Throws: ``SourceFailure`` if the session refuses the stream; `unsupported` if it is live, or its parts differ in format.
    static func read(
        _ source: StreamSource,
        _ servers: StreamOptions,
        keys: GivenKeys,
        to folder: ScratchFolder,
        _ bar: ProgressBar
    ) async throws -> StreamCopy {
        var (options, parameters) = (ProxyOptions(), MediaSourceParameters())
        options.allowsFragments = true
        options.rules = .rfc
        options.policy = .open
        options.clients = .ownProcesses
        servers.apply(to: &options, &parameters)
        let failure = Locked<ProxyError?>(nil)
        let proxy = try PlaylistProxy(options: options) { error in failure.withLock { $0 = error } }
        var copy = StreamCopy(folder: folder, bar: bar)
        do {
            try proxy.start()
            let session = try proxy.makeURL(source.place, source.type, parameters, keys: keys)
            try await copy.read(session, source.name)
        } catch {
            await proxy.stop()
            if let error = error as? ProxyError { throw SourceFailure(error) }
            // the listener has the reason why a request of this process failed
            guard error is HTTPClientError || error is Refusal, let reason = failure.withLock({ $0 }) else { throw error }
            throw SourceFailure(reason)
        }
        await proxy.stop()
        return copy
    }

    private init(folder: ScratchFolder, bar: ProgressBar) {
        self.folder = folder
        self.bar = bar
    }

    private mutating func read(_ session: PlaylistProxy.Session, _ name: String) async throws {
        let summary = try await session.check()
        guard !summary.isLive else {
            throw MediaError(.unsupported, "\(name) is live: it has no end to be read to")
        }
        isProtected = !summary.protections.isEmpty
        warnings += summary.warnings.map { "\(name): \($0)" }
        guard summary.kind != .dcf else {
            form = .content
            return try await save([Part(uri: session.url)], as: "content")
        }
        let top = try await playlist(session.url)
        guard case .multivariant(let playlist) = top else { return try await save(top, session.url, as: "media", name) }
        guard let variant = playlist.variants.max(by: { $0.bandwidth < $1.bandwidth }) else {
            throw MediaError(.unsupported, "\(name) has no variant")
        }
        let audio = playlist.renditions.filter { $0.kind == "AUDIO" && $0.groupID == variant.group("AUDIO") }
        let chosen = audio.first { $0.isDefault } ?? audio.first { $0.isAutoselect } ?? audio.first
        for rendition in playlist.renditions where rendition != chosen {
            guard rendition.kind == "SUBTITLES" || audio.contains(rendition) else { continue }
            let kind = rendition.kind == "AUDIO" ? "audio" : "subtitles"
            warnings.append("\(name): \(kind) '\(rendition.name)' (\(rendition.language ?? "und")) is left out")
        }
        try await save(variant.uri, of: session.url, as: "media", name)
        if let uri = chosen?.uri { try await save(uri, of: session.url, as: "audio", name) }
    }

    private mutating func save(_ uri: String, of top: String, as file: String, _ name: String) async throws {
        let url = URIReference.resolve(uri, against: top)
        let playlist = try await playlist(url)
        try await save(playlist, url, as: file, name)
    }

    private func playlist(_ url: String) async throws -> Playlist {
        let request = ClientRequest(url, timeouts: Self.timeouts, maxResponseBytes: Self.playlistLimit)
        let response = try await client.send(request)
        guard response.status == .ok else { throw Refusal(status: response.status) }
        return try Playlist.read(response.body.rawSpan, strictness: .lenient).playlist
    }

    /// A part of a rendition on the session.
    private struct Part {
        var uri: String
        var range: ClientRange?
    }

    private mutating func save(_ playlist: Playlist, _ url: String, as file: String, _ name: String) async throws {
        guard case .media(let playlist) = playlist, playlist.isEnded else {
            throw MediaError(.unsupported, "\(name) is live: it has no end to be read to")
        }
        var initialization: MediaSegment.Initialization?
        var parts: [Part] = []
        for segment in playlist.segments where !segment.isGap {
            if let map = segment.initialization, map != initialization {
                guard initialization == nil else {
                    throw MediaError(.unsupported, "\(name) has parts of different forms, which one file cannot hold: play it")
                }
                initialization = map
                form = .fragments
                parts.append(Self.part(map.uri, map.byteRange, url))
            }
            parts.append(Self.part(segment.uri, segment.byteRange, url))
        }
        try await save(parts, as: file)
    }

    private static func part(_ uri: String, _ range: MediaSegment.ByteRange?, _ url: String) -> Part {
        let range = range.map { ClientRange.bytes(Int64($0.offset)...Int64($0.offset + $0.length - 1)) }
        return Part(uri: URIReference.resolve(uri, against: url), range: range)
    }

    private mutating func save(_ parts: [Part], as file: String) async throws {
        let output = try OutputFile("\(folder.path)/\(file)")
        for part in parts {
            var request = ClientRequest(part.uri, timeouts: Self.timeouts, maxResponseBytes: .max)
            request.range = part.range
            let stream = try await client.open(request)
            let status = stream.response.status
            guard status == (part.range == nil ? .ok : .partialContent) else { throw Refusal(status: status) }
            while let chunk = try await stream.next() {
                try output.write(chunk.rawSpan)
                done += Int64(chunk.count)
                bar.advance(to: done)
            }
        }
        try output.commit()
        files.append(output.path)
    }

    /// Writes the media as one file.
    ///
    /// - Parameters:
    ///   - isTransport: whether it is a transport stream rather than fragmented MP4; ignored for the content of a DCF.
    ///   - body: gets the bytes of the file in order.
    /// - Throws: ``UnreadableInput`` if ffmpeg is missing; the errors of `body`.
    func write(isTransport: Bool, _ body: (RawSpan) throws -> Void) throws {
        if form == .content || isTransport && form == .transportStreams && files.count == 1 {
            let file = try LocalFile(files[0])
            for start in stride(from: 0, to: file.length, by: 1 << 20) {
                let bytes = try file.read(start..<min(start + 1 << 20, file.length))
                try body(bytes.rawSpan)
            }
            return
        }
        do {
            let names = files.compactMap { $0.split(separator: "/").last.map(String.init) }
            try FFmpegInput(names, offsets: try files.map(Self.timestamp), in: folder.path).copy(isTransport: isTransport, body)
        } catch let error as TranscodingError {
            throw UnreadableInput(path: "the clear stream", error: error)
        }
    }
}

extension StreamCopy {
    /// The presentation time of packed audio (RFC 8216 §3.4), which ffmpeg does not read; 0 for any other file.
    private static func timestamp(_ path: String) throws -> UInt64 {
        let file = try LocalFile(path)
        let beginning = try file.read(0..<min(file.length, 4096))
        guard beginning.starts(with: "ID3".utf8) else { return 0 }
        return PackedAudio.timestamp(beginning.rawSpan) ?? 0
    }
}

/// An error response of the session in place of media.
private struct Refusal: ReportableError {
    let status: HTTPStatus

    var message: String { "the source cannot be read: status \(status.rawValue)" }
    var exitStatus: ExitStatus { .unavailable }
}
