// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelHTTP
import CarrelLoopback
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelReader
import CarrelThreads

/// The responses of a session.
final class SessionContent: Sendable {
    /// A source that was looked into.
    enum Prepared: Sendable {
        case presentation(any Presentation)
        case bytes(ByteContent)
    }

    private struct State {
        var preparing: Task<Prepared, any Error>?
        /// Playlists that do not change any more.
        var finished: [RenditionName: [UInt8]] = [:]
        /// The segments sent so far; nil unless a caller requested progress.
        var sent: SentMedia?
        /// Whether the trace has the warnings about the source.
        var hasWarned = false
        var isEnded = false
    }

    /// Bytes of playlists that are kept, at most.
    private static let finishedLimit = 4 << 20

    let source: SessionSource
    let settings: SessionSettings
    private let share: ProxyShare
    private let state = Locked(State())
    private let ahead: SegmentsAhead
    private let watch: ResponseWatch
    /// The key of encrypted output.
    private let outputKey = Secret(Random.bytes(16))

    var options: ProxyOptions { share.options }
    private var timer: MonotonicClock { options.limits.clock }
    private var origin: MediaOrigin { source.origin }

    init(_ source: SessionSource, _ settings: SessionSettings, _ share: ProxyShare) {
        self.source = source
        self.settings = settings
        self.share = share
        ahead = SegmentsAhead(share.prefetch, share.options.limits.clock)
        watch = ResponseWatch(share.watch, settings.clock, report: share.report) { [state] in state.withLock { $0.isEnded } }
    }

    private func report(_ error: ProxyError) { share.report(error) }
    private func trace(_ event: Trace) { share.trace(event) }

    func end() {
        let task = state.withLock { state in
            state.isEnded = true
            return state.preparing
        }
        task?.cancel()
        Task { if case .presentation(let presentation) = try await task?.value { presentation.end() } }
        ahead.end()
        settings.threads.end()
        source.rights?.end()
        Task { [keys] in await keys?.end() }
    }

    func released() async {
        await source.rights?.released()
        await keys?.end()
    }

    private var keys: SessionKeys? { settings.keys as? SessionKeys }

    /// How far the player has come since the first call.
    func progress() -> SessionProgress {
        state.withLock { state in
            let sent = state.sent ?? SentMedia()
            state.sent = sent
            return sent.progress
        }
    }

    /// The time by which keys end.
    var now: Instant { settings.clock.now }

    // MARK: - Preparing

    /// Looks into the source, once; a failure is tried again with the next request.
    ///
    /// - Parameter use: of the response, which ends with the rights of the session.
    /// - Returns: the source.
    /// - Throws: ``ProxyError``.
    func prepared(_ use: KeyUse) async throws -> Prepared {
        // the rights decide, over clear content too
        if let rights = try await source.rights?.redeemed() {
            use.limit(to: rights.end)
            try use.check(at: settings.clock.now)
        }
        let task = try state.withLock { state throws(ProxyError) in
            guard !state.isEnded else { throw ProxyError(.ended, "the session has ended") }
            if let task = state.preparing { return task }
            let task = Task { try await self.prepare(KeyUse()) }
            state.preparing = task
            return task
        }
        do { return try await task.value } catch {
            // another request may have begun again
            state.withLock { if $0.preparing == task { $0.preparing = nil } }
            throw error
        }
    }

    private func prepare(_ use: KeyUse) async throws -> Prepared {
        switch try await OpenedSource(source.type, origin, settings, use) {
        case .presentation(let presentation): return .presentation(presentation)
        case .container:
            let content = try await ByteContent(origin, settings, use)
            guard !options.encryptsOutput else {
                throw ProxyError(.unsupported, "the content of a DCF goes out as it is, and cannot be encrypted again")
            }
            return .bytes(content)
        }
    }

    // MARK: - Responses

    func respond(to request: SessionRequest) async -> HTTPResponse {
        let path = request.path.joined(separator: "/")
        let use = KeyUse()
        let began = timer.now
        do {
            guard request.runningCount <= options.requestLimit else {
                throw ProxyError(.busy, "the session has \(options.requestLimit) requests under way")
            }
            guard request.http.method == .get || request.http.method == .head else {
                return HTTPError(.methodNotAllowed, "http.method", "this address is read", headers: ["Allow": "GET, HEAD"])
                    .response(requestID: request.http.id)
            }
            return added(try await found(request, path, use))
        } catch {
            // a player that leaves, and a session that ends, are not errors of the source
            let hasEnded = state.withLock { $0.isEnded }
            guard !Task.isCancelled, !hasEnded else {
                if !hasEnded { traceDeparture(request, path, began) }
                return .empty(.clientClosedRequest)
            }
            let error = use.explained(ProxyError(error, in: "the source"))
            // a renewed key is used after the source is probed again
            // playlists hold no keys, and the numbers of live segments continue
            let isKey = error.code == .expiredKey || error.code == .refusedKey
            if isKey, source.type == .singleFile { state.withLock { $0.preparing = nil } }
            report(error)
            trace(Trace(.proxy, .now(), "a request failed", [.init("resource", .name(path)), .init("error", .code(of: error))]))
            var refusal = HTTPError(error.status, .init(error.code), error.message)
            if error.status == .serviceUnavailable { refusal.headers["Retry-After"] = "1" }
            if path == "player.html" { return added(PlayerPage.failed(error)) }
            return added(refusal.response(requestID: request.http.id))
        }
    }

    /// Records a player that leaves: it gives no reason, and its user sees none. The trace has the resource and the time waited.
    private func traceDeparture(_ request: SessionRequest, _ path: String, _ began: ContinuousClock.Instant) {
        let segment = path.hasPrefix("segment.") || path == "text.vtt" ? try? SegmentName(request.http.query) : nil
        let field = segment.map { Trace.Field("segment", .name($0.query)) } ?? .init("resource", .name(path))
        trace(
            Trace(
                .proxy,
                .now(),
                "the player left before the first byte",
                [field, .init("took", .duration(began.duration(to: timer.now)))]
            )
        )
    }

    private func added(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Cache-Control"] = "no-store"
        for field in settings.parameters.playerFields { response.headers[field.name] = field.value }
        return response
    }

    private func found(_ request: SessionRequest, _ path: String, _ use: KeyUse) async throws -> HTTPResponse {
        if path == "index.m3u8" || path == "content", options.usesLongURLs {
            // no open proxy: the address leads to the source that it was made for
            guard request.http.query["source"] == source.name else { throw SegmentName.unknown }
        }
        if path == "key.bin", options.encryptsOutput {
            let key = outputKey.withBytes { bytes in (0..<bytes.byteCount).map { bytes.u8(at: $0) } }
            return .bytes(key, type: "application/octet-stream")
        }
        switch try await prepared(use) {
        case .bytes where path == "player.html": return PlayerPage.playing("content\(sourceQuery)")
        case .bytes(let content):
            if path == "index.m3u8" { return .redirect(to: "content\(sourceQuery)", status: .temporaryRedirect) }
            guard path == "content" else { throw SegmentName.unknown }
            return try await content.response(to: request.http, WatchedBody(watch: watch, use: use, cut: request.cut))
        case .presentation where path == "player.html":
            // errors of the source are shown on the page
            _ = try await summary(use)
            return PlayerPage.playing("index.m3u8\(sourceQuery)")
        case .presentation(let presentation):
            if path == "content" { return .redirect(to: "index.m3u8\(sourceQuery)", status: .temporaryRedirect) }
            return try await response(to: request, path, of: presentation, use)
        }
    }

    private func response(
        to request: SessionRequest,
        _ path: String,
        of presentation: any Presentation,
        _ use: KeyUse
    ) async throws -> HTTPResponse {
        switch path {
        case "index.m3u8":
            let outline = try await top(of: presentation, use)
            // the tracks decide the segment format
            let text = playlistText
            return playlist(
                try await settings.threads.compute { [settings] in try text.top(outline, lines: settings.parameters.playlistLines)
                }
            )
        case "media.m3u8":
            let name = try RenditionName(request.http.query)
            if name.text == Self.sidecar {
                let list = try await sidecarList(presentation, use)
                return playlist(try playlistText.media(list, of: name))
            }
            if let finished = state.withLock({ $0.finished[name] }) { return playlist(finished) }
            let list = try await presentation.segments(of: name, use)
            let text = playlistText
            let made = try await settings.threads.compute { try text.media(list, of: name) }
            state.withLock { $0.sent?.note(list, of: name) }
            if list.isEnded {
                state.withLock { state in
                    let held = state.finished.values.reduce(0) { $0 + $1.count }
                    if held + made.count <= Self.finishedLimit { state.finished[name] = made }
                }
            }
            return playlist(made)
        case "segment.ts", "segment.m4s", "text.vtt", "segment.aac", "segment.mp3", "segment.ac3", "segment.ec3":
            let name = try SegmentName(request.http.query)
            if name.rendition.text == Self.sidecar { return try await sidecar() }
            let response = try await watch.open(use) { [self] in
                try await served(try await ahead.take(name, of: presentation, use, settings.clock), name, use, request)
            }
            ahead.open(after: name, of: presentation)
            return response
        case "init.mp4":
            let name = try SegmentName(request.http.query)
            return try await watch.open(use) { [self] in
                try await served(try await presentation.openInitialization(name, use), nil, use, request)
            }
        case "track.mp4":
            let name = try SegmentName(request.http.query)
            return try await watch.open(use) { [self] in
                try await part(of: name, request, presentation, use)
            }
        default: throw SegmentName.unknown
        }
    }

    private var playlistText: PlaylistText {
        PlaylistText(
            rules: settings.rules == .compatible ? .compatible : .rfc,
            isFragmented: settings.output == .fragments,
            isEncrypted: options.encryptsOutput
        )
    }

    /// A part of a file of fragments, which a playlist names by its range.
    private func part(
        of name: SegmentName,
        _ request: SessionRequest,
        _ presentation: any Presentation,
        _ use: KeyUse
    ) async throws -> HTTPResponse {
        let file = try await presentation.file(of: name, use)
        // a file without an entity tag has no condition under which a range applies
        guard let ranges = request.http.headers["Range"].flatMap({ ByteRanges(parsing: $0) }), ranges.specs.count == 1,
            request.http.headers["If-Range"] == nil
        else {
            let fields: HTTPFields = ["Content-Range": "bytes */\(file.length)"]
            return HTTPError(.rangeNotSatisfiable, "http.range", "it is read by one range of its playlist", headers: fields)
                .response(requestID: request.http.id)
        }
        var body = ResponseBody.empty
        if let range = ranges.resolve(length: file.length).first {
            let media = ServedMedia(contentType: "video/mp4", bytes: RangedBytes(file, range, of: presentation, use))
            body = try await served(media, nil, use, request, "\(name.fileQuery) \(range)", length: range.count).body
        }
        return .serving(Representation(length: file.length, contentType: "video/mp4") { [body] _ in body }, for: request.http)
    }

    /// The outline with the caller's subtitles.
    func top(of presentation: any Presentation, _ use: KeyUse) async throws -> Outline {
        var outline = try await presentation.outline(use)
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        if isFirst { for warning in outline.warnings { trace(warning.trace) } }
        if let subtitles = settings.parameters.subtitles {
            let name = RenditionName(text: Self.sidecar)
            outline.texts.append(Outline.Rendition(name: name, label: subtitles.name, language: subtitles.language))
        }
        return outline
    }

    private func playlist(_ text: [UInt8]) -> HTTPResponse { .bytes(text, type: MediaPlaylist.mediaType, isCompressible: false) }

    /// The query field that names the source, in addresses that have it.
    private var sourceQuery: String { options.usesLongURLs ? "?source=\(PercentEncoding.encode(source.name))" : "" }

    /// Serves a segment while it is made; usually its length is not known in advance.
    ///
    /// The first bytes are made before this returns, so that a missing key or segment is an error status, not a truncated
    /// response.
    private func served(
        _ media: ServedMedia,
        _ name: SegmentName?,
        _ use: KeyUse,
        _ request: SessionRequest,
        _ resource: String = "init",
        length: Int? = nil
    ) async throws -> HTTPResponse {
        use.join(media.uses)
        let began = timer.now
        var bytes = media.bytes
        // subtitles have no key in their playlist
        if options.encryptsOutput, let name, !name.rendition.isText { bytes = try EncryptedBytes(bytes, key: outputKey, name) }
        // bytes already sent are not kept: samples may have megabytes
        let first = Locked(try await bytes.next())
        try use.check(at: settings.clock.now)
        let body = ResponseBody.stream(length: length) { [self, bytes, cut = request.cut] writer in
            var count = 0
            try await WatchedBody(watch: watch, use: use, cut: cut).send {
                var next = first.withLock { $0.take() }
                while let size = next?.count {
                    count += size
                    try await writer.write(next.take() ?? [])
                    try use.check(at: settings.clock.now)
                    next = try await bytes.next()
                }
            }
            if let name { state.withLock { $0.sent?.note(name, count, began: began) } }
            trace(
                Trace(
                    .proxy,
                    .now(),
                    "a segment was sent",
                    [
                        .init("segment", .name(name?.query ?? resource)), .init("bytes", .number(count)),
                        .init("took", .duration(began.duration(to: timer.now))),
                    ]
                )
            )
        }
        return HTTPResponse(.ok, headers: ["Content-Type": media.contentType, "Accept-Ranges": "none"], body: body)
    }

    // MARK: - Separate subtitle files

    /// The place of the caller's subtitles among texts.
    private static let sidecar = 10_000
    private static let sidecarLimit = 16 << 20

    private func sidecarList(_ presentation: any Presentation, _ use: KeyUse) async throws -> SegmentList {
        let outline = try await presentation.outline(use)
        var list = SegmentList()
        var duration = Duration.zero
        if let first = outline.variants.first {
            let media = try await presentation.segments(of: first.name, use)
            duration = media.segments.reduce(.zero) { $0 + $1.duration }
            list.isEnded = media.isEnded
        }
        if let seconds = settings.parameters.durationSeconds { duration = .seconds(seconds) }
        list.segments = [
            SegmentList.Segment(name: SegmentName(RenditionName(text: Self.sidecar)), duration: max(duration, .seconds(1)))
        ]
        return list
    }

    private func sidecar() async throws -> HTTPResponse {
        guard let subtitles = settings.parameters.subtitles else { throw SegmentName.unknown }
        let place = settings.subtitles
        // a separate file is identified by its real path
        let address = place.source == origin.source ? origin.resolve(subtitles.url) : place.address
        let (bytes, _) = try await place.load(address, limit: Self.sidecarLimit)
        return try await settings.threads.compute { [settings] in try Self.sidecar(bytes, settings) }
    }

    private static func sidecar(_ bytes: [UInt8], _ settings: SessionSettings) throws -> HTTPResponse {
        var text = String(decoding: bytes, as: UTF8.self)
        if text.hasPrefix("\u{feff}") { text.removeFirst() }
        guard text.hasPrefix("WEBVTT") else { throw ProxyError(.damaged, "the subtitles are no WebVTT file") }
        // a file with a time map is already on the clock of its media
        let isShifted = settings.output == .transportStream && !text.contains("X-TIMESTAMP-MAP")
        return .bytes(isShifted ? WebVTTClock.shifted(bytes) : Array(text.utf8), type: "text/vtt; charset=utf-8")
    }
}

extension RenditionName {
    /// Reads query fields.
    init(_ query: Query) throws(ProxyError) { self = try SegmentName(query).rendition }
}
