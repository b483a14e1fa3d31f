// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `Sessions of a proxy` {
    private static func session(_ run: ProxyRun) throws -> PlaylistProxy.Session {
        let (path, keys) = try `A DASH source`.source("number-clear")
        return try run.proxy.makeURL(path, .dash, keys: keys)
    }

    @Test func `end by themselves, and leave the others alone`() async throws {
        let run = try ProxyRun()
        let (one, other) = (try Self.session(run), try Self.session(run))
        #expect(one.url != other.url && one.authToken != other.authToken)
        let segment = try #require(try await ProxyRun.segments(of: one).first)
        one.end()
        #expect(try await ProxyRun.get(one.url).status == 403)
        #expect(try await ProxyRun.get(segment).status == 403)
        #expect(try await ProxyRun.get(other.url).status == 200)
        await run.proxy.stop()
    }

    @Test func `cut their running responses when they end`() async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .cissa
        }
        let isRunning = Locked(false)
        let origin = try OriginServer(package.path) { request in
            let path = request.path.segments.joined(separator: "/")
            guard path.hasSuffix("/2.ts"), let bytes = Fixtures.bytes(at: "\(package.path)/\(path)") else { return nil }
            return HTTPResponse(
                .ok,
                headers: ["Content-Type": "video/mp2t"],
                body: .stream(length: bytes.count) { writer in
                    try await writer.write(Array(bytes.prefix(188 * 40)))
                    isRunning.withLock { $0 = true }
                    try await Task.sleep(for: .seconds(60))
                }
            )
        }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(origin.origin)/master.m3u8", .hls, keys: package.keys)
        let segments = try await ProxyRun.segments(of: session)
        let running = Task { try await ProxyRun.get(segments[1]) }
        try await eventually { isRunning.withLock { $0 } }
        try await Task.sleep(for: .milliseconds(100))
        let began = ContinuousClock.now
        session.end()
        let result = await running.result
        #expect(began.duration(to: .now) < .seconds(5))
        #expect(throws: (any Error).self) { _ = try result.get() }
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `are as many as the limit`() async throws {
        let run = try ProxyRun()
        var sessions = try (0..<256).map { _ in try Self.session(run) }
        #expect { _ = try Self.session(run) } throws: { ($0 as? ProxyError)?.code == .busy }
        sessions.removeLast().end()
        #expect(throws: Never.self) { _ = try Self.session(run) }
        await run.proxy.stop()
    }

    @Test func `end with the next one where there is a single one`() async throws {
        let run = try ProxyRun { $0.isSingleSession = true }
        let one = try Self.session(run)
        #expect(try await ProxyRun.get(one.url).status == 200)
        let other = try Self.session(run)
        #expect(try await ProxyRun.get(one.url).status == 403)
        #expect(try await ProxyRun.get(other.url).status == 200)
        await run.proxy.stop()
    }

    @Test func `have an error that is taken once`() async throws {
        let run = try ProxyRun()
        #expect(run.proxy.takeLastError() == nil)
        let session = try Self.session(run)
        _ = try await ProxyRun.get(session.url.replacing("index.m3u8", with: "nothing"))
        let error = try #require(run.proxy.takeLastError())
        #expect(error.code == .missing && !error.recommendation.isEmpty)
        #expect(run.proxy.takeLastError() == nil)
        #expect(run.codes == [.missing])
        await run.proxy.stop()
    }

    @Test func `need a version that the app expects, and a proxy that has started`() async throws {
        for major in [0, 2, -1] {
            #expect { _ = try PlaylistProxy(expectedMajor: major) } throws: { ($0 as? ProxyError)?.code == .version }
        }
        #expect(PlaylistProxy.version.description == "1.0")
        let proxy = try PlaylistProxy(expectedMajor: 1)
        let (path, _) = try `A DASH source`.source("number-clear")
        #expect { _ = try proxy.makeURL(path, .dash) } throws: { ($0 as? ProxyError)?.code == .usage }
        try proxy.start()
        #expect { try proxy.start() } throws: { ($0 as? ProxyError)?.code == .usage }
        #expect { _ = try proxy.makeURL("/no/such/file", .dash) } throws: { ($0 as? ProxyError)?.code == .unavailable }
        let session = try proxy.makeURL(path, .dash)
        #expect(try await ProxyRun.get(session.url).status == 200)
        await proxy.stop()
        await #expect(throws: (any Error).self) { _ = try await ProxyRun.get(session.url) }
    }

    // MARK: - Encrypted output

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `send segments under a key of their own where the caller wants that`(output: PlaylistProxy.Output) async throws {
        let run = try ProxyRun { options in
            options.encryptsOutput = true
            options.output = output
        }
        let session = try Self.session(run)
        let media = try await ProxyRun.media(of: session)
        let text = try await ProxyRun.text(media)
        #expect(text.contains("#EXT-X-KEY:METHOD=AES-128,URI=\"key.bin\",IV=0x"))
        let key = try await ProxyRun.get(session.url.replacing("index.m3u8", with: "key.bin"))
        #expect(key.body.count == 16 && key.headers["Cache-Control"] == "no-store")
        let segments = try await ProxyRun.segments(of: session)
        let bytes = try await ProxyRun.get(try #require(segments.first)).body
        #expect(bytes.count % 16 == 0 && !(bytes.count % 188 == 0 && bytes.first == 0x47))
        let expected = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == expected.pictures)
        #expect(played.audio.dropFirst() == expected.audio[...] || played.audio == expected.audio)
        let other = try Self.session(run)
        #expect(try await ProxyRun.get(other.url.replacing("index.m3u8", with: "key.bin")).body != key.body)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `have a page that says why they cannot be played`() async throws {
        let run = try ProxyRun()
        let absent = try run.proxy.makeURL("http://127.0.0.1:9/a%3Cb%3E&c.mpd", .dash)
        let (status, body, headers) = try await ProxyRun.get(absent.pageURL)
        let page = String(decoding: body, as: UTF8.self)
        #expect(status == 502 && headers["Content-Type"]?.hasPrefix("text/html") == true)
        #expect(headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
        let error = try #require(run.proxy.takeLastError())
        #expect(page.contains("This cannot be played") && page.contains("<p>\(error.recommendation)</p>"))
        #expect(!page.contains("<video"))
        // without a key its playlists are there, and its segments are not
        let (path, _) = try `A DASH source`.source("timeline-cenc")
        let locked = try await ProxyRun.get(try run.proxy.makeURL(path, .dash).pageURL)
        #expect(locked.status == 403 && run.proxy.takeLastError()?.code == .missingKey)
        #expect(String(decoding: locked.body, as: UTF8.self).contains("no key is given"))
        await run.proxy.stop()
    }
}
