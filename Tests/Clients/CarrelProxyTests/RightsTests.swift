// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelReader
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

@Suite(.serialized) struct `The source of an MS3 address` {
    private static let policies: [PlaylistProxy.Policy] = [.compatible, .usual, .open]
    private static let clear = ProtectedPackage.source

    /// Plays the content of a compound URL, and compares it with the clear source.
    private static func play(
        _ content: String,
        _ type: PlaylistProxy.SourceType,
        _ rights: TestRights,
        policy: PlaylistProxy.Policy = .usual,
        scheme: String = "https"
    ) async throws {
        let run = try ProxyRun { $0.policy = policy }
        let session = try run.proxy.makeURL(TestRights.url(content, scheme: scheme), type, rights: rights)
        #expect(rights.asked.isEmpty)
        let expected = try await Frames.ffmpeg(try Fixtures.path(clear))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == expected.pictures && !played.pictures.isEmpty)
        // the frames with which the encoder primes are cut off by the edit list of the source alone
        let count = min(played.audio.count, expected.audio.count)
        #expect(count > 100 && played.audio.suffix(max(0, count - 1)) == expected.audio.suffix(max(0, count - 1)))
        #expect(abs(played.audio.count - expected.audio.count) <= 2)
        #expect(run.errors.withLock { $0.map(\.description) } == [])
        // ffmpeg played it twice
        #expect(rights.asked == ["https://rights.example:8443/hms/ms3/rights/?b=\(TestRights.token)"])
        await run.proxy.stop()
        #expect(rights.releases == 1)
    }

    private static func transport(_ scheme: TransportScheme?, _ change: (inout PackagingOptions) -> Void = { _ in }) async throws
        -> ProtectedPackage
    {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = scheme
            options.audioKeys = options.videoKeys
            change(&options)
        }
    }

    // MARK: - Rows

    @Test(arguments: policies) func `may be clear HLS under every policy`(policy: PlaylistProxy.Policy) async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let content = "\(origin.origin)/master.m3u8"
        try await Self.play(content, .hls, TestRights(), policy: policy)
        // by the scheme of playlists, whatever the caller takes it for
        try await Self.play(content.replacing("http:", with: "hls:"), .singleFile, TestRights(), policy: policy, scheme: "ms3")
        // the same without rights
        let run = try ProxyRun { $0.policy = policy }
        let got = try await ProxyRun.get(try run.proxy.makeURL(content, .hls).url)
        #expect(got.status == (policy == .open ? 200 : 403))
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `may be clear fragments of HLS`() async throws {
        let package = try await ProtectedPackage { $0.scheme = nil }
        let origin = try OriginServer(package.path)
        try await Self.play("\(origin.origin)/master.m3u8", .hls, TestRights(), policy: .compatible)
        await origin.stop()
    }

    @Test(arguments: [PlaylistProxy.Policy.compatible, .usual])
    func `may be HLS with AES-128 whose key the rights have`(policy: PlaylistProxy.Policy) async throws {
        let package = try await Self.transport(.aes128) { $0.keyURI = "urn:marlin-drm?CID=urn:marlin:kid:{kid}" }
        let origin = try OriginServer(package.path)
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .content("urn:marlin:kid:00112233445566778899aabbccddeeff"))
        try await Self.play("\(origin.origin)/master.m3u8", .hls, TestRights(keys), policy: policy)
        await origin.stop()
    }

    @Test(arguments: ["number-clear", "timeline-cenc"], policies)
    func `may be DASH, clear and protected`(folder: String, policy: PlaylistProxy.Policy) async throws {
        let (path, keys) = try `A DASH source`.source(folder)
        let place = try #require(path.lastIndex(of: "/"))
        let origin = try OriginServer(String(path[..<place]))
        try await Self.play("\(origin.origin)\(path[place...])", .dash, TestRights(keys), policy: policy)
        await origin.stop()
    }

    @Test(arguments: [
        ("dcf/av.pdcf-cbc.mp4", PlaylistProxy.Policy.compatible), ("dcf/av.pdcf-ctr.mp4", .usual), ("cenc/av.cenc.mp4", .usual),
        ("cenc/av-nonfrag.cenc.mp4", .usual), ("src/av-h264-aac.mp4", .compatible), ("src/av-h264-aac.mp4", .usual),
    ])
    func `may be one MP4 file, clear and protected`(name: String, policy: PlaylistProxy.Policy) async throws {
        let origin = try OriginServer(try Fixtures.path("media"))
        let keys = ProtectedFixture.all.first { $0.name == name }?.keys ?? GivenKeys()
        try await Self.play("\(origin.origin)/\(name)", .singleFile, TestRights(keys), policy: policy)
        await origin.stop()
    }

    @Test(arguments: [TransportScheme.cissa, nil], policies)
    func `may be transport streams, clear and scrambled`(scheme: TransportScheme?, policy: PlaylistProxy.Policy) async throws {
        let package = try await Self.transport(scheme)
        let origin = try OriginServer(package.path)
        try await Self.play("\(origin.origin)/master.m3u8", .hls, TestRights(package.keys), policy: policy)
        // one stream of all segments
        let names = try await Self.segments(package)
        _ = package.directory.write("out/film.ts", names.flatMap { package.directory.read("out/\($0)") ?? [] })
        let run = try ProxyRun { $0.policy = policy }
        let rights = TestRights(package.keys)
        let session = try run.proxy.makeURL(TestRights.url("\(origin.origin)/film.ts"), .singleFile, rights: rights)
        let played = try await Frames.ffmpeg(session.url)
        #expect(try await played.pictures == Frames.ffmpeg(try Fixtures.path(Self.clear)).pictures)
        #expect(run.errors.withLock { $0 } == [] && rights.asked.count == 1)
        await run.proxy.stop()
        await origin.stop()
    }

    private static func segments(_ package: ProtectedPackage) async throws -> [String] {
        try package.text("video-1.m3u8").split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    // MARK: - The rule of the output

    private static func dcf(
        _ extensions: [StreamRights.Extension],
        _ policy: PlaylistProxy.Policy = .usual,
        keyRelaxes: Bool = true
    ) async throws -> (status: Int, body: [UInt8], codes: [ProxyError.Code]) {
        let origin = try OriginServer(try Fixtures.path("media/dcf"))
        let run = try ProxyRun { $0.policy = policy }
        let keys = TermKeys(key: `A DCF source`.key, relaxesOutput: keyRelaxes)
        let rights = TestRights(keys, extensions: extensions)
        let session = try run.proxy.makeURL(TestRights.url("\(origin.origin)/note.ctr.dcf"), .singleFile, rights: rights)
        #expect(session.url.hasSuffix("/content"))
        let got = try await ProxyRun.get(session.url)
        await run.proxy.stop()
        await origin.stop()
        return (got.status, got.body, run.codes)
    }

    @Test(arguments: policies) func `may be a DCF where an extension of the rights lifts the rule of the output`(
        policy: PlaylistProxy.Policy
    ) async throws {
        let got = try await Self.dcf([.openOutput], policy)
        #expect(got.status == 200 && got.codes == [])
        #expect(got.body == Fixtures.bytes(at: try Fixtures.path("media/src/note.txt")))
    }

    @Test func `is no DCF without such an extension, or with one that keeps a constraint`() async throws {
        let constraint = StreamRights.Extension(type: "wudo", payload: [0, 0, 0, 1])
        for extensions in [[], [StreamRights.Extension(type: "abcd")], [constraint]] {
            let got = try await Self.dcf(extensions)
            #expect(got.status == 403 && got.codes == [.outputControl])
        }
        // the key of the rights has a word too
        #expect(try await Self.dcf([.openOutput], keyRelaxes: false).codes == [.outputControl])
    }

    @Test func `is refused for an extension that is critical and not known`() async throws {
        let got = try await Self.dcf([.openOutput, StreamRights.Extension(type: "abcd", isCritical: true)])
        #expect(got.status == 403 && got.codes == [.refusedKey])
        #expect(String(decoding: got.body, as: UTF8.self).contains("'abcd'"))
        #expect(try await Self.dcf([StreamRights.Extension(type: "wudo", isCritical: true)]).status == 200)
        let constraint = StreamRights.Extension(type: "wudo", isCritical: true, payload: [0, 0, 0, 1])
        #expect(try await Self.dcf([.openOutput, constraint]).codes == [.refusedKey])
    }

    // MARK: - Refusals

    @Test func `is not requested before its rights are granted, and a refusal stays one`() async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let run = try ProxyRun { $0.policy = .open }
        let rights = TestRights(answering: .refused("the token was redeemed before"), .granted(StreamRights()))
        let session = try run.proxy.makeURL(TestRights.url("\(origin.origin)/master.m3u8"), .hls, rights: rights)
        for _ in 0..<3 { try await ProxyRun.expectRefusal(session.url, .refusedKey, 403, of: run) }
        #expect(rights.asked.count == 1 && origin.requests.isEmpty)
        #expect(run.errors.withLock { $0.last?.message } == "the rights are refused: the token was redeemed before")
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `whose rights service is away is asked for again with the next request`() async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let run = try ProxyRun()
        let rights = TestRights(answering: .unavailable("it is away"), .granted(StreamRights()))
        let session = try run.proxy.makeURL(TestRights.url("\(origin.origin)/master.m3u8"), .hls, rights: rights)
        try await ProxyRun.expectRefusal(session.url, .unavailable, 502, of: run)
        #expect(origin.requests.isEmpty)
        #expect(try await ProxyRun.get(session.url).status == 200)
        for segment in try await ProxyRun.segments(of: session) { #expect(try await ProxyRun.get(segment).status == 200) }
        #expect(rights.asked.count == 2)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `has only the keys of its rights`() async throws {
        let package = try await Self.transport(.cissa)
        let origin = try OriginServer(package.path)
        let run = try ProxyRun()
        let source = TestRights.url("\(origin.origin)/master.m3u8")
        let session = try run.proxy.makeURL(source, .hls, keys: package.keys, rights: TestRights())
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        try await ProxyRun.expectRefusal(segment, .missingKey, 403, of: run)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: [true, false]) func `stops at the end of its rights, clear content too`(isClear: Bool) async throws {
        let package = try await Self.transport(isClear ? nil : .cissa)
        let origin = try OriginServer(package.path)
        let clock = ManualClock(Instant(milliseconds: 1_000_000_000_000))
        let run = try ProxyRun()
        let rights = TestRights(package.keys, end: Instant(milliseconds: 1_000_000_010_000))
        let source = TestRights.url("\(origin.origin)/master.m3u8")
        let session = try run.proxy.makeURL(source, .hls, rights: rights, clock: clock)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        #expect(try await ProxyRun.get(segment).status == 200)
        clock.advance(by: .seconds(10))
        let lists = { origin.requests.count { $0.path.hasSuffix(".m3u8") } }
        let before = lists()
        for url in [session.url, segment] { try await ProxyRun.expectRefusal(url, .expiredKey, 403, of: run) }
        await #expect(throws: ProxyError(.expiredKey, "")) { _ = try await session.check() }
        // the source is not looked into any more
        #expect(rights.asked.count == 1 && lists() == before)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: [true, false]) func `continues while its rights are renewed`(isClear: Bool) async throws {
        let package = try await Self.transport(isClear ? nil : .cissa)
        let origin = try OriginServer(package.path)
        let clock = ManualClock(Instant(milliseconds: 1_000_000_000_000))
        let run = try ProxyRun()
        let end = ContentKeyEnd(clock.now + .seconds(10))
        let granted = StreamRights(keys: package.keys, end: end)
        let rights = TestRights(answering: .granted(granted))
        let source = TestRights.url("\(origin.origin)/master.m3u8")
        let session = try run.proxy.makeURL(source, .hls, rights: rights, clock: clock)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        #expect(try await ProxyRun.get(segment).status == 200)
        // renewed in time, and late
        clock.advance(by: .seconds(9))
        end.move(to: clock.now + .seconds(10))
        clock.advance(by: .seconds(9))
        #expect(try await ProxyRun.get(segment).status == 200)
        clock.advance(by: .seconds(1))
        try await ProxyRun.expectRefusal(segment, .expiredKey, 403, of: run)
        end.move(to: clock.now + .seconds(10))
        for url in [session.url, segment] { #expect(try await ProxyRun.get(url).status == 200) }
        #expect(rights.asked.count == 1)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `gives its rights back when its session ends, once, and never without rights`() async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let run = try ProxyRun()
        let source = TestRights.url("\(origin.origin)/master.m3u8")
        let (unused, used) = (TestRights(), TestRights())
        _ = try run.proxy.makeURL(source, .hls, rights: unused)
        let session = try run.proxy.makeURL(source, .hls, rights: used)
        let got = try await ProxyRun.get(session.url)
        #expect(got.status == 200, "\(String(decoding: got.body, as: UTF8.self))")
        #expect(used.releases == 0)
        session.end()
        session.end()
        try await eventually { used.releases > 0 }
        await run.proxy.stop()
        #expect(used.releases == 1 && unused.releases == 0 && unused.asked.isEmpty)
        await origin.stop()
    }

    @Test func `ends in time where giving rights back takes for ever, and late rights are given back too`() async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let run = try ProxyRun()
        let source = TestRights.url("\(origin.origin)/master.m3u8")
        let (forever, gone) = AsyncStream<Void>.makeStream()
        defer { gone.finish() }
        for _ in 0..<3 {
            // a client that does not listen when it is cancelled
            let rights = TestRights(
                answering: .granted(StreamRights { await Task.detached { for await _ in forever {} }.value })
            )
            #expect(try await ProxyRun.get(try run.proxy.makeURL(source, .hls, rights: rights).url).status == 200)
        }
        let late = SlowRights()
        let session = try run.proxy.makeURL(source, .hls, rights: late)
        let asking = Task { try? await ProxyRun.get(session.url) }
        try await eventually { late.isAsked }
        let began = ContinuousClock.now
        await run.proxy.stop()
        #expect((.seconds(4)...Duration.seconds(12)).contains(began.duration(to: .now)))
        #expect(late.releases == 1)
        _ = await asking.value
        await origin.stop()
    }

    @Test(arguments: [false, true])
    func `is given back before the end of its proxy, however late it was granted`(endsBefore: Bool) async throws {
        let run = try ProxyRun()
        let late = SlowRights()
        let session = try run.proxy.makeURL(TestRights.url("https://127.0.0.1:9/film.mpd"), .dash, rights: late)
        let asking = Task { try? await ProxyRun.get(session.url) }
        try await eventually { late.isAsked }
        if endsBefore { session.end() }
        await run.proxy.stop()
        #expect(late.releases == 1)
        _ = await asking.value
    }

    // MARK: - The token

    @Test(arguments: [false, true]) func `shows its token in no address, response, error and trace`(isLong: Bool) async throws {
        let package = try await Self.transport(nil)
        let origin = try OriginServer(package.path)
        let content = "\(origin.origin)/master.m3u8"
        let traces = Locked<[Trace]>([])
        let errors = Locked<[ProxyError]>([])
        var options = PlaylistProxy.Options()
        options.usesLongURLs = isLong
        let proxy = try PlaylistProxy(options: options) { error in
            errors.withLock { $0.append(error) }
        } trace: { event in
            traces.withLock { $0.append(event) }
        }
        try proxy.start()
        var shown = ""
        let answers: [TestRights] = [
            TestRights(),
            // a service that repeats what it was asked
            TestRights(
                answering: .refused("no rights for \(TestRights.token)\nas https://rights.example/?b=\(TestRights.token)")
            ),
            TestRights(answering: .unavailable("\(TestRights.token)\(TestRights.token)")),
            TestRights(extensions: [StreamRights.Extension(type: TestRights.token, isCritical: true)]),
        ]
        for rights in answers {
            let session = try proxy.makeURL(TestRights.url(content), .hls, rights: rights)
            shown += session.url + session.pageURL
            #expect(session.url.contains("?source=\(PercentEncoding.encode(content))") == isLong)
            for url in [
                session.url, session.pageURL, session.url.replacing("index.m3u8", with: "media.m3u8?video=0"),
                session.url.replacing("index.m3u8", with: "nothing"),
            ] {
                let got = try await ProxyRun.get(url)
                shown += String(decoding: got.body, as: UTF8.self) + got.headers.map { "\($0.name) \($0.value)" }.joined()
            }
        }
        await origin.stop()
        let away = try proxy.makeURL(TestRights.url(content), .hls, rights: TestRights())
        shown += String(decoding: try await ProxyRun.get(away.url).body, as: UTF8.self)
        shown += errors.withLock { $0.map { "\($0) \($0.message) \($0.recommendation)" } }.joined()
        shown += traces.withLock { $0.map { "\($0)" } }.joined()
        #expect(errors.withLock { Set($0.map(\.code)) }.isSuperset(of: [.refusedKey, .unavailable]))
        #expect(!shown.contains(TestRights.token))
        // nor the origin of the content
        let requests = origin.requests.map { "\($0.path) \($0.query) \($0.headers.map { $0.value })" }.joined()
        #expect(!requests.isEmpty && !requests.contains(TestRights.token))
        await proxy.stop()
    }
}
