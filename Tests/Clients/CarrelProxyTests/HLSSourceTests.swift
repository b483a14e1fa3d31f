// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

/// The location of a source.
enum SourcePlace: CaseIterable { case local, remote }

struct `An HLS source` {
    /// Plays a source through a proxy, and compares it with the clear source.
    static func play(
        _ source: String,
        _ output: PlaylistProxy.Output = .transportStream,
        policy: PlaylistProxy.Policy = .usual,
        keys: some ContentKeySource = GivenKeys(),
        _ clear: String = ProtectedPackage.source
    ) async throws {
        let run = try ProxyRun { options in
            options.output = output
            options.policy = policy
        }
        let session = try run.proxy.makeURL(source, .hls, keys: keys)
        let expected = try await Frames.ffmpeg(try Fixtures.path(clear))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == expected.pictures)
        // the frame with which the encoder primes is cut off by the edit list of the source alone
        #expect(
            played.audio == expected.audio || played.audio.dropFirst() == expected.audio[...]
                || played.audio[...] == expected.audio.dropFirst()
        )
        #expect(!played.audio.isEmpty)
        #expect(played.complaints == "")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    /// A package, as files and from a server that has its keys at `/keys/ID`.
    private static func play(
        _ package: ProtectedPackage,
        _ place: SourcePlace,
        _ output: PlaylistProxy.Output = .transportStream,
        policy: PlaylistProxy.Policy = .usual,
        keys: some ContentKeySource
    ) async throws {
        guard place == .remote else { return try await play(package.playlist, output, policy: policy, keys: keys) }
        let origin = try OriginServer(package.path)
        try await play("\(origin.origin)/master.m3u8", output, policy: policy, keys: keys)
        #expect(origin.requests.count > 3)
        await origin.stop()
    }

    // MARK: - Transport streams

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

    @Test(arguments: SourcePlace.allCases) func `of scrambled transport streams plays as its clear source`(place: SourcePlace)
        async throws
    {
        let package = try await Self.transport(.cissa)
        try await Self.play(package, place, keys: package.keys)
    }

    @Test func `of scrambled transport streams is taken by the seed's policy, whose keys are named by their content`()
        async throws
    {
        let package = try await Self.transport(.cissa) { $0.contentID = "urn:example:film" }
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .content("urn:example:film"))
        try await Self.play(package, .local, policy: .compatible, keys: keys)
    }

    @Test func `of scrambled transport streams whose keys rotate plays as its clear source`() async throws {
        let package = try await Self.transport(.cissa) { options in
            options.rotation = 1
            options.videoKeys.append(ProtectedPackage.audioKey)
        }
        try await Self.play(package, .remote, keys: package.keys)
    }

    @Test(arguments: SourcePlace.allCases, [PlaylistProxy.Policy.compatible, .usual])
    func `of AES-128 with Marlin's key line plays with the key that a source has by its content id`(
        place: SourcePlace,
        policy: PlaylistProxy.Policy
    ) async throws {
        let package = try await Self.transport(.aes128) { $0.keyURI = "urn:marlin-drm?CID=urn:marlin:kid:{kid}" }
        // the form of the specification, with an attribute of its own
        for name in ["video-1.m3u8", "audio-1.m3u8"] {
            let text = try package.text(name)
            let written = text.replacing("URI=\"urn:marlin-drm?CID=", with: "URI=\"urn:marlin-drm\",CID=\"")
            #expect(text != written)
            if name == "video-1.m3u8" { package.write(name, written) }
        }
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .content("urn:marlin:kid:00112233445566778899aabbccddeeff"))
        try await Self.play(package, place, policy: policy, keys: keys)
    }

    @Test func `with the key line of the Marlin fixture asks for the key by its content id`() async throws {
        let fixture = try #require(Fixtures.bytes(at: try Fixtures.path("drm/marlin/marlin-aes128.m3u8")))
        let directory = TemporaryDirectory()
        let clear = Array(repeating: UInt8(0x47), count: 188 * 7)
        let source = directory.write("film.m3u8", fixture)
        let key = Secret(Array(repeating: 7, count: 16))
        for number in [1, 2] {
            // the vector is the media sequence number (RFC 8216 §5.2)
            var cipher: AESCBCEncryptor? = try AESCBCEncryptor(key: key, iv: Array(repeating: 0, count: 15) + [UInt8(number)])
            let bytes = try [UInt8](rawCapacity: clear.count + 16) { span throws(CryptoError) in
                try cipher?.update(clear.rawSpan, into: &span)
                if let cipher = cipher.take() { try cipher.finish(into: &span) }
            }
            _ = directory.write("seg\(number).ts", bytes)
        }
        var keys = GivenKeys()
        keys.add(key, for: .content("urn:marlin:kid:00112233445566778899aabbccddeeff"))
        let run = try ProxyRun { $0.policy = .compatible }
        let session = try run.proxy.makeURL(source, .hls, keys: keys)
        for segment in try await ProxyRun.segments(of: session) {
            let got = try await ProxyRun.get(segment)
            #expect(got.status == 200 && got.body == clear)
        }
        let without = try run.proxy.makeURL(source, .hls)
        let refused = try #require(try await ProxyRun.segments(of: without).first)
        try await ProxyRun.expectRefusal(refused, .missingKey, 403, of: run)
        await run.proxy.stop()
    }

    @Test(arguments: [TransportScheme.aes128, .sampleAES], [false, true])
    func `of a plain key server plays as its clear source`(scheme: TransportScheme, rotates: Bool) async throws {
        let package = try await Self.transport(scheme) { options in
            options.keyURI = "keys/{kid}"
            guard rotates else { return }
            options.rotation = 1
            options.videoKeys.append(ProtectedPackage.audioKey)
            options.audioKeys = options.videoKeys
        }
        let origin = try OriginServer(package.path) { request in
            guard request.path.segments.first == "keys" else { return nil }
            return package.bytes(ofKey: request.path.segments.last ?? "").map { .bytes($0, type: "application/octet-stream") }
        }
        try await Self.play("\(origin.origin)/master.m3u8")
        let asked = origin.requests.filter { $0.path.hasPrefix("keys/") }
        // ffmpeg plays it twice, through one session that keeps the keys
        #expect(asked.count == (rotates ? 2 : 1))
        await origin.stop()
    }

    @Test func `with keys in data addresses plays as its clear source`() async throws {
        let key = Base64.encode(try #require(Hex.decode("000102030405060708090a0b0c0d0e0f")))
        let package = try await Self.transport(.aes128) { $0.keyURI = "data:application/octet-stream;base64,\(key)" }
        try await Self.play(package, .local, keys: GivenKeys())
    }

    @Test func `plays a source with local key files like its clear source, but not by the seed's policy`() async throws {
        let package = try await Self.transport(.aes128) { $0.keyURI = "{kid}.key" }
        let id = Hex.encode(ProtectedPackage.videoKey.id.bytes)
        _ = package.directory.write("out/\(id).key", try #require(package.bytes(ofKey: id)))
        try await Self.play(package, .local, keys: GivenKeys())
        // a caller may name a key as the playlist does
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .address("\(id).key"))
        try await Self.play(package, .remote, policy: .compatible, keys: keys)
        let run = try ProxyRun { $0.policy = .compatible }
        let session = try run.proxy.makeURL(package.playlist, .hls)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        try await ProxyRun.expectRefusal(segment, .missingKey, 403, of: run)
        await run.proxy.stop()
    }

    // MARK: - Fragments

    @Test(arguments: [CommonEncryptionScheme.cbcs, .cenc], [PackagingOptions.Layout.segments, .ranges])
    func `of encrypted fragments plays as its clear source in both forms of output`(
        scheme: CommonEncryptionScheme,
        layout: PackagingOptions.Layout
    ) async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = scheme
            options.layout = layout
        }
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            try await Self.play(package, layout == .ranges ? .remote : .local, output, keys: package.keys)
        }
    }

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `of encrypted fragments plays with the keys of a key server`(output: PlaylistProxy.Output) async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cbcs
            options.keyURI = "/keys/{kid}"
        }
        let origin = try OriginServer(package.path) { request in
            guard request.path.segments.first == "keys" else { return nil }
            return package.bytes(ofKey: request.path.segments.last ?? "").map { .bytes($0, type: "application/octet-stream") }
        }
        try await Self.play("\(origin.origin)/master.m3u8", output)
        await origin.stop()
    }

    @Test func `of encrypted fragments whose keys rotate plays as its clear source`() async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cbcs
            options.rotation = 1
            options.videoKeys.append(ProtectedPackage.key("0f112233445566778899aabbccddeeff", "0f0102030405060708090a0b0c0d0e0f"))
        }
        try await Self.play(package, .local, keys: package.keys)
    }

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `has its audio group, and its subtitles on the clock of the output`(output: PlaylistProxy.Output) async throws {
        let text = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nOne\n\n00:00:05.000 --> 00:00:06.000\nTwo\n"
        let texts = [try PackagingText(name: "text", Array(text.utf8), language: "de")]
        let package = try await ProtectedPackage(texts: texts) { $0.scheme = .cbcs }
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        let top = try await ProxyRun.text(session.url)
        #expect(top.contains("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\""))
        #expect(top.contains("LANGUAGE=\"de\""))
        #expect(top.contains("AUDIO=\"audio\"") && top.contains("SUBTITLES=\"text\""))
        let line = try #require(top.split(separator: "\n").first { $0.contains("TYPE=SUBTITLES") })
        let uri = try #require(line.split(separator: "URI=\"").last?.split(separator: "\"").first)
        var cues = ""
        for address in try await ProxyRun.addresses(URIReference.resolve(String(uri), against: session.url)) {
            let got = try await ProxyRun.get(address)
            #expect(got.headers["Content-Type"]?.hasPrefix("text/vtt") == true)
            cues += String(decoding: got.body, as: UTF8.self)
        }
        #expect(cues.contains("One") && cues.contains("Two") && cues.hasPrefix("WEBVTT"))
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let directory = TemporaryDirectory()
        let initialization =
            output == .fragments ? try await ProxyRun.get(segment.replacing("segment.m4s", with: "init.mp4")).body : []
        let file = directory.write("one", initialization + (try await ProxyRun.get(segment)).body)
        let first = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of",
            "csv=p=0", file,
        ])
        let time = try #require(first.split(separator: "\n").first.flatMap { Double($0.filter { $0.isNumber || $0 == "." }) })
        // The cues count from the first picture, which a package presents a little after zero.
        let ticks = cues.split(separator: "MPEGTS:").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        #expect(abs(Double(ticks) / 90_000 - time) < 0.001, "cues at \(ticks), pictures at \(time)")
        #expect((output == .transportStream ? 10..<10.2 : 0..<0.2).contains(time))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    // MARK: - Fixtures of others

    @Test(arguments: ProtectedFixture.wholeSegments)
    func `of the fixtures gives the bytes that its oracle has`(fixture: ProtectedFixture) async throws {
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(try Fixtures.path("media/\(fixture.name)"), .hls)
        var digests: [String] = []
        for address in try await ProxyRun.segments(of: session) {
            let got = try await ProxyRun.get(address)
            #expect(got.status == 200)
            digests.append(Hex.encode(SHA256.hash(got.body.rawSpan)))
            let kind =
                fixture.name.contains("mp3-packed")
                ? "audio/mpeg" : fixture.name.contains("aac-packed") ? "audio/aac" : "video/mp2t"
            #expect(got.headers["Content-Type"] == kind)
        }
        let expected = fixture.entry["segments"]?.array?.compactMap { $0["plaintext_sha256"]?.string }
        #expect(digests == expected)
        await run.proxy.stop()
    }

    @Test func `of SAMPLE-AES in transport streams plays as its clear twin`() async throws {
        let folder = try Fixtures.path("media/hls/sample-aes")
        let names = try FixtureFolder.names(in: "\(folder)/clear").filter { $0.hasSuffix(".ts") }.sorted()
        let all = names.flatMap { Fixtures.bytes(at: "\(folder)/clear/\($0)") ?? [] }
        let directory = TemporaryDirectory()
        let clear = try await Frames.ffmpeg(directory.write("clear.ts", all))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(folder)/stream.m3u8", .hls)
        let played = try await Frames.ffmpeg(session.url)
        #expect(!clear.pictures.isEmpty && played.pictures == clear.pictures)
        #expect(!clear.audio.isEmpty && played.audio == clear.audio)
        await run.proxy.stop()
    }
}
