// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelReader
import CarrelTesting
import CarrelThreads
import Testing

struct `Addresses in a source` {
    /// A package of AES-128 under a plain key server.
    private static func package() async throws -> ProtectedPackage {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .aes128
            options.audioKeys = options.videoKeys
            options.keyURI = "keys/{kid}"
        }
    }

    private static func keys(_ package: ProtectedPackage) -> OriginServer.Answer {
        { request in
            guard request.path.segments.first == "keys" else { return nil }
            return package.bytes(ofKey: request.path.segments.last ?? "").map { .bytes($0, type: "application/octet-stream") }
        }
    }

    /// The part of a source that is on the other server.
    enum Lead: CaseIterable { case playlist, segment, key, redirectOfPlaylist, redirectOfSegment, redirectOfKey }

    /// Asks for everything that a session has: the top playlist, the first playlist, its first segment.
    private static func walk(_ session: PlaylistProxy.Session) async throws -> (status: Int, body: String) {
        var url = session.url
        for _ in 0..<3 {
            let got = try await ProxyRun.get(url)
            guard got.status == 200, got.headers["Content-Type"] == "application/vnd.apple.mpegurl" else {
                return (got.status, String(decoding: got.body, as: UTF8.self))
            }
            let first = String(decoding: got.body, as: UTF8.self).split(separator: "\n").first { !$0.hasPrefix("#") }
            url = URIReference.resolve(String(try #require(first)), against: url)
        }
        return (0, "")
    }

    @Test(arguments: Lead.allCases, [false, true])
    func `that lead to a private address of another origin are refused unless they are allowed`(lead: Lead, isAllowed: Bool)
        async throws
    {
        let package = try await Self.package()
        let foreign = try OriginServer(package.path, address: "127.0.0.2", Self.keys(package))
        let origin = try OriginServer(package.path) { request in
            let path = request.path.segments.joined(separator: "/")
            let isLed =
                switch lead {
                case .redirectOfPlaylist: path == "video-1.m3u8"
                case .redirectOfSegment: path.hasSuffix(".ts")
                case .redirectOfKey: path.hasPrefix("keys/")
                default: false
                }
            if isLed { return .redirect(to: "\(foreign.origin)/\(path)", status: .temporaryRedirect) }
            return await Self.keys(package)(request)
        }
        switch lead {
        case .playlist:
            package.write(
                "master.m3u8",
                try package.text("master.m3u8").replacing("\nvideo-1.m3u8", with: "\n\(foreign.origin)/video-1.m3u8")
            )
        case .segment:
            package.write(
                "video-1.m3u8",
                try package.text("video-1.m3u8").replacing("\nvideo-1/", with: "\n\(foreign.origin)/video-1/")
            )
        case .key:
            package.write(
                "video-1.m3u8",
                try package.text("video-1.m3u8").replacing("URI=\"keys/", with: "URI=\"\(foreign.origin)/keys/")
            )
        default: break
        }
        let run = try ProxyRun { options in
            options.allowsPrivateNetworks = isAllowed
            options.allowsPlainHTTP = isAllowed
        }
        let session = try run.proxy.makeURL("\(origin.origin)/master.m3u8", .hls)
        let got = try await Self.walk(session)
        if isAllowed {
            #expect(got.status == 200)
            #expect(!foreign.requests.isEmpty && run.codes == [])
        } else {
            #expect(got.status == 403 && got.body.contains("proxy.address"), "\(got)")
            #expect(foreign.requests.isEmpty && run.codes == [.address])
        }
        await run.proxy.stop()
        await origin.stop()
        await foreign.stop()
    }

    @Test func `of a manifest that lead to a private address of another origin are refused unless they are allowed`() async throws
    {
        let folder = try Fixtures.path("media/dash/number-clear")
        let foreign = try OriginServer(folder, address: "127.0.0.2")
        let origin = try OriginServer(folder) { request in
            guard request.path.segments.last == "manifest.mpd",
                let bytes = Fixtures.bytes(at: "\(folder)/manifest.mpd")
            else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            let led = text.replacing("<Period", with: "<BaseURL>\(foreign.origin)/</BaseURL><Period", maxReplacements: 1)
            return .bytes(Array(led.utf8), type: "application/dash+xml")
        }
        for isAllowed in [false, true] {
            let run = try ProxyRun { $0.allowsPrivateNetworks = isAllowed }
            let session = try run.proxy.makeURL("\(origin.origin)/manifest.mpd", .dash)
            let got = try await Self.walk(session)
            #expect(got.status == (isAllowed ? 200 : 403), "\(got)")
            #expect(run.codes == (isAllowed ? [] : [.address]))
            #expect(foreign.requests.isEmpty == !isAllowed)
            await run.proxy.stop()
        }
        await origin.stop()
        await foreign.stop()
    }

    @Test(arguments: [false, true]) func `of plain http are allowed for one source, or for all others`(forAll: Bool) throws {
        let run = try ProxyRun { $0.allowsPlainHTTP = forAll }
        var parameters = MediaSourceParameters()
        parameters.allowsPlainHTTP = !forAll
        let address = "http://media.example/film.mpd"
        func isRefused(_ parameters: MediaSourceParameters) -> Bool {
            do throws(ProxyError) {
                try run.proxy.makeURL(address, .dash, parameters).end()
                return false
            } catch {
                return error.code == .address
            }
        }
        #expect(isRefused(MediaSourceParameters()) == !forAll)
        #expect(isRefused(parameters) == forAll)
    }

    @Test func `of plain http beyond this machine are refused unless they are allowed`() throws {
        let run = try ProxyRun()
        #expect { _ = try run.proxy.makeURL("http://example.org/film.mpd?token=secret", .dash) } throws: { error in
            (error as? ProxyError)?.code == .address && !"\(error)".contains("secret")
        }
        #expect(throws: Never.self) { _ = try run.proxy.makeURL("https://example.org/film.mpd", .dash) }
        let open = try ProxyRun { $0.allowsPlainHTTP = true }
        #expect(throws: Never.self) { _ = try open.proxy.makeURL("http://example.org/film.mpd", .dash) }
    }

    @Test(arguments: [
        "../outside.ts", "file:///etc/passwd", "/etc/passwd", "link.ts", "folder/../../outside.ts", "%2e%2e/outside.ts",
        "http://127.0.0.1:1/x.ts",
    ])
    func `of a local playlist that lead out of its folder are refused`(segment: String) async throws {
        let directory = TemporaryDirectory()
        let packets = Array(repeating: UInt8(0x47), count: 188)
        _ = directory.write("outside.ts", packets)
        _ = try await runProcess(["/bin/mkdir", "-p", directory.file("in/folder")])
        _ = try await runProcess(["/bin/ln", "-s", directory.file("outside.ts"), directory.file("in/link.ts")])
        for (uri, key) in [(segment, "key.bin"), ("inside.ts", segment)] {
            _ = directory.write("in/inside.ts", packets)
            let source = directory.write(
                "in/film.m3u8",
                "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(key)\"\n#EXTINF:6,\n\(uri)\n#EXT-X-ENDLIST\n"
            )
            _ = directory.write("in/key.bin", Array(repeating: UInt8(1), count: 16))
            let run = try ProxyRun()
            let session = try run.proxy.makeURL(source, .hls)
            let address = try #require(try await ProxyRun.segments(of: session).first)
            try await ProxyRun.expectRefusal(address, .address, 403, of: run)
            await run.proxy.stop()
        }
    }

    @Test(arguments: [
        "file:///etc/passwd", "file://localhost/etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "unix:/tmp/x",
    ])
    func `of a remote source lead to no file`(segment: String) async throws {
        let directory = TemporaryDirectory()
        _ = directory.write(
            "film.m3u8",
            "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:6,\n\(segment)\n#EXT-X-ENDLIST\n"
        )
        let origin = try OriginServer(directory.path)
        let run = try ProxyRun { $0.allowsPrivateNetworks = true }
        let session = try run.proxy.makeURL("\(origin.origin)/film.m3u8", .hls)
        let address = try #require(try await ProxyRun.segments(of: session).first)
        let got = try await ProxyRun.get(address)
        #expect([403, 502].contains(got.status) && !String(decoding: got.body, as: UTF8.self).contains("root:"))
        #expect([.address, .refusedKey].contains(run.proxy.takeLastError()?.code))
        await run.proxy.stop()
        await origin.stop()
    }

    // MARK: - Secrets

    @Test func `show no secret in errors, traces and messages, and the caller's fields go to the source's origin alone`()
        async throws
    {
        let package = try await Self.package()
        let secrets = ["query-secret", "user-secret", "field-secret", "000102030405060708090a0b0c0d0e0f", "key-secret"]
        let foreign = try OriginServer(package.path, address: "127.0.0.2", Self.keys(package))
        let origin = try OriginServer(package.path) { request in
            guard request.path.segments.last?.hasSuffix(".ts") == true else { return nil }
            return .redirect(
                to: "\(foreign.origin)/\(request.path.segments.joined(separator: "/"))?other=query-secret",
                status: .temporaryRedirect
            )
        }
        package.write(
            "video-1.m3u8",
            try package.text("video-1.m3u8").replacing("URI=\"keys/", with: "URI=\"\(foreign.origin)/keys/")
                .replacing("ff\",IV", with: "ff?k=key-secret\",IV")
        )
        let traces = Locked<[Trace]>([])
        let errors = Locked<[ProxyError]>([])
        var options = PlaylistProxy.Options()
        options.allowsPrivateNetworks = true
        options.allowsPlainHTTP = true
        let proxy = try PlaylistProxy(options: options) { error in
            errors.withLock { $0.append(error) }
        } trace: { event in
            traces.withLock { $0.append(event) }
        }
        try proxy.start()
        var parameters = MediaSourceParameters()
        parameters.originFields = ["X-Token": "field-secret"]
        let named = "\(origin.origin.replacing("http://", with: "http://user:user-secret@"))/master.m3u8?sig=query-secret"
        #expect { _ = try proxy.makeURL(named, .hls, parameters) } throws: { error in
            (error as? ProxyError)?.code == .address && !"\(error)".contains("secret")
        }
        let source = "\(origin.origin)/master.m3u8?sig=query-secret"
        let session = try proxy.makeURL(source, .hls, parameters)
        var bodies = try await Self.walk(session).body
        #expect(origin.requests.allSatisfy { $0.headers["X-Token"] == "field-secret" } && !origin.requests.isEmpty)
        #expect(foreign.requests.allSatisfy { $0.headers["X-Token"] == nil && $0.headers["Authorization"] == nil })
        #expect(
            foreign.requests.contains { $0.path.hasSuffix(".ts") } && foreign.requests.contains { $0.path.hasPrefix("keys/") }
        )
        await foreign.stop()
        await origin.stop()
        // and when nothing answers any more
        for path in ["segment.ts?period=0&video=0&n=1&t=0", "media.m3u8?audio=0", "media.m3u8?video=5", "nothing"] {
            bodies += String(
                decoding: try await ProxyRun.get(session.url.replacing("index.m3u8", with: path)).body,
                as: UTF8.self
            )
        }
        let away = try proxy.makeURL(source, .dash, parameters)
        bodies += String(decoding: try await ProxyRun.get(away.url).body, as: UTF8.self)
        let shown =
            bodies + errors.withLock { $0 }.map { "\($0) \($0.message) \($0.recommendation)" }.joined()
            + traces.withLock { $0 }.map { "\($0)" }.joined()
        #expect(errors.withLock { $0.count } >= 4)
        for secret in secrets + [session.authToken] { #expect(!shown.contains(secret), "\(secret)") }
        await proxy.stop()
    }
}
