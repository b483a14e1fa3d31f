// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaPlanning
import CarrelMediaSource
import CarrelProxy
import CarrelSavedMedia
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

struct `A saved source` {
    /// Saves a source of a server, stops the server, and compares what a player decodes before and after.
    private static func play(
        _ origin: OriginServer,
        _ path: String,
        _ type: MediaSourceType,
        _ mode: SealMode,
        keys: some ContentKeySource,
        parameters: MediaSourceParameters = MediaSourceParameters(),
        _ change: (inout PlaylistProxy.Options) -> Void = { _ in },
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let run = try ProxyRun(change)
        let source = "\(origin.origin)/\(path)"
        let online = try await Frames.ffmpeg(try run.proxy.makeURL(source, type, parameters, keys: keys).url)
        let saved = try await SavedTitle(source, type, mode, parameters: parameters)
        await origin.stop()
        let count = origin.requests.count
        let offline = try await Frames.ffmpeg(try run.proxy.makeURL(try saved.open(), keys: keys).url)
        #expect(!online.audio.isEmpty, sourceLocation: location)
        #expect(offline.pictures == online.pictures, sourceLocation: location)
        #expect(offline.audio == online.audio, sourceLocation: location)
        #expect(Self.lines(offline.complaints) == Self.lines(online.complaints), sourceLocation: location)
        #expect(run.errors.withLock { $0 } == [], sourceLocation: location)
        #expect(origin.requests.count == count, sourceLocation: location)
        await run.proxy.stop()
    }

    /// The complaints of a player without its addresses in memory.
    private static func lines(_ complaints: String) -> [Substring] {
        complaints.split(separator: "\n").map { $0.drop { $0 != "]" } }
    }

    private static func transport(_ scheme: TransportScheme, _ change: (inout PackagingOptions) -> Void = { _ in }) async throws
        -> ProtectedPackage
    {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = scheme
            options.audioKeys = options.videoKeys
            change(&options)
        }
    }

    @Test(arguments: [SealMode.keys, .all], [TransportScheme.aes128, .sampleAES])
    func `of HLS transport streams plays like the source`(mode: SealMode, scheme: TransportScheme) async throws {
        let package = try await Self.transport(scheme) { $0.keyURI = "keys/{kid}" }
        let origin = try OriginServer(package.path) { request in
            guard request.path.segments.first == "keys" else { return nil }
            return package.bytes(ofKey: request.path.segments.last ?? "").map { .bytes($0, type: "application/octet-stream") }
        }
        // offline, the key comes from the caller: no request leaves the package
        var keys = GivenKeys()
        let id = Hex.encode(ProtectedPackage.videoKey.id.bytes)
        keys.add(ProtectedPackage.videoKey.key, for: .address("\(origin.origin)/keys/\(id)"))
        try await Self.play(origin, "master.m3u8", .hls, mode, keys: keys)
        #expect(!origin.requests.contains { $0.path.hasPrefix("keys/") })
    }

    @Test func `of scrambled transport streams in HLS plays like the source`() async throws {
        let package = try await Self.transport(.cissa)
        try await Self.play(try OriginServer(package.path), "master.m3u8", .hls, .keys, keys: package.keys)
    }

    @Test(arguments: [SealMode.keys, .all], [PackagingOptions.Layout.segments, .ranges])
    func `of HLS fragments plays like the source`(mode: SealMode, layout: PackagingOptions.Layout) async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cenc
            options.layout = layout
        }
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            let origin = try OriginServer(package.path)
            try await Self.play(origin, "master.m3u8", .hls, mode, keys: package.keys) { $0.output = output }
        }
    }

    @Test(
        arguments: [SealMode.keys, .all],
        ["timeline-cenc", "number-clear", "ondemand-cbcs", "ffmpeg-list", "multiperiod-mixed"]
    )
    func `of DASH plays like the source`(mode: SealMode, folder: String) async throws {
        let path = try Fixtures.path("media/dash/\(folder)")
        let name = try #require(try FixtureFolder.names(in: path).first { $0.hasSuffix(".mpd") })
        let keys = try #require(ProtectedFixture.named("dash/multiperiod-mixed").first).keys
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            try await Self.play(try OriginServer(path), name, .dash, mode, keys: keys) { options in
                options.output = output
                options.policy = .open
            }
        }
    }

    @Test(arguments: [SealMode.keys, .all], ["cenc/av.cenc.mp4", "cenc/av-nonfrag.cenc.mp4", "dcf/av.pdcf-cbc.mp4"])
    func `of one file plays like the source`(mode: SealMode, name: String) async throws {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == name })
        let folder = try Fixtures.path("media")
        try await Self.play(try OriginServer(folder), name, .singleFile, mode, keys: fixture.keys)
    }

    @Test(arguments: [SealMode.keys, .all]) func `without protection plays like the source, also from a folder`(mode: SealMode)
        async throws
    {
        let path = try Fixtures.path("media/src/av-h264-aac.mp4")
        let saved = try await SavedTitle(path, .singleFile, mode)
        #expect(!saved.plan.isProtected)
        let run = try ProxyRun { $0.policy = .open }
        let offline = try await Frames.ffmpeg(try run.proxy.makeURL(try saved.open()).url)
        let online = try await Frames.ffmpeg(try run.proxy.makeURL(path, .singleFile).url)
        #expect(offline.pictures == online.pictures && offline.audio == online.audio)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: ProtectedFixture.wholeSegments, [SealMode.keys, .all])
    func `of the fixtures gives the bytes that their oracle has`(fixture: ProtectedFixture, mode: SealMode) async throws {
        let path = try Fixtures.path("media/\(fixture.name)")
        let saved = try await SavedTitle(path, .hls, mode)
        // offline, a key file next to the playlist is not read
        var keys = GivenKeys()
        for key in saved.plan.keys {
            guard case .address(let address)? = key.names.first, let bytes = Fixtures.bytes(at: address) else { continue }
            keys.add(Secret(bytes), for: .address(address))
        }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(try saved.open(), keys: keys)
        var digests: [String] = []
        for address in try await ProxyRun.segments(of: session) {
            let got = try await ProxyRun.get(address)
            #expect(got.status == 200)
            digests.append(Hex.encode(SHA256.hash(got.body.rawSpan)))
        }
        let expected = fixture.entry["segments"]?.array?.compactMap { $0["plaintext_sha256"]?.string }
        #expect(digests == expected)
        await run.proxy.stop()
    }

    @Test func `has its subtitles and a separate subtitle file`() async throws {
        let text = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nOne\n\n00:00:05.000 --> 00:00:06.000\nTwo\n"
        let package = try await ProtectedPackage(texts: [try PackagingText(name: "text", Array(text.utf8), language: "de")]) {
            $0.scheme = .cbcs
        }
        package.write("own.vtt", text.replacing("One", with: "Three"))
        let origin = try OriginServer(package.path)
        var selection = MediaSelection()
        selection.texts = .chosen(["de"])
        var parameters = MediaSourceParameters()
        parameters.subtitles = MediaSourceParameters.Subtitles(name: "Own", language: "en", url: "own.vtt")
        let saved = try await SavedTitle("\(origin.origin)/master.m3u8", .hls, selection: selection, parameters: parameters)
        await origin.stop()
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(try saved.open(), keys: package.keys)
        let top = try await ProxyRun.text(session.url)
        var cues = ""
        for line in top.split(separator: "\n") where line.contains("TYPE=SUBTITLES") {
            let uri = try #require(line.split(separator: "URI=\"").last?.split(separator: "\"").first)
            for address in try await ProxyRun.addresses(URIReference.resolve(String(uri), against: session.url)) {
                cues += try await ProxyRun.text(address)
            }
        }
        #expect(cues.contains("One") && cues.contains("Two") && cues.contains("Three"))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [SealMode.keys, .all], ["tiny.cbc.dcf", "mp3.cbc.dcf", "epub.ctr.dcf"])
    func `of a DCF gives the same bytes`(mode: SealMode, name: String) async throws {
        var keys = GivenKeys()
        keys.add(Secret(`A DCF source`.key), for: nil)
        let origin = try OriginServer(try Fixtures.path("media/dcf"))
        let run = try ProxyRun()
        let source = "\(origin.origin)/\(name)"
        let online = try await ProxyRun.get(try run.proxy.makeURL(source, .singleFile, keys: keys).url)
        let saved = try await SavedTitle(source, .singleFile, mode)
        #expect(saved.plan.isProtected && !saved.plan.keys.isEmpty)
        await origin.stop()
        let offline = try await ProxyRun.get(try run.proxy.makeURL(try saved.open(), keys: keys).url)
        #expect(online.status == 200 && offline.status == 200 && !online.body.isEmpty && offline.body == online.body)
        #expect(offline.headers["Content-Type"] == online.headers["Content-Type"])
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [SealMode.keys, .all])
    func `of one scrambled transport stream with rotating keys plays like the source`(mode: SealMode) async throws {
        let film = try await ScrambledFilm(try Fixtures.path(ProtectedPackage.source))
        let directory = TemporaryDirectory()
        _ = directory.write("film.ts", film.bytes)
        try await Self.play(try OriginServer(directory.path), "film.ts", .singleFile, mode, keys: film.keys)
    }
}
