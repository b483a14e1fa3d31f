import CarrelMedia
import CarrelMediaPackaging
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `A policy` {
    private static let policies: [PlaylistProxy.Policy] = [.seed, .usual, .open]

    private static func transport(_ scheme: TransportScheme?) async throws -> ProtectedPackage {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = scheme
            options.audioKeys = options.videoKeys
            options.keyURI = "https://keys.example/{kid}"
        }
    }

    @Test(arguments: policies) func `takes clear HLS only where it is open`(policy: PlaylistProxy.Policy) async throws {
        let clear = [
            try await Self.transport(nil), try await ProtectedPackage { $0.scheme = nil },
        ]
        for package in clear {
            let run = try ProxyRun { $0.policy = policy }
            let session = try run.proxy.makeURL(package.playlist, .hls)
            if policy == .open {
                for segment in try await ProxyRun.segments(of: session) { #expect(try await ProxyRun.get(segment).status == 200) }
                #expect(run.codes == [])
            } else {
                try await ProxyRun.expectRefusal(session.url, .clearContent, 403, of: run)
                // what the playlist does not show is not served either
                let base = session.url.replacing("index.m3u8", with: "")
                for path in ["media.m3u8?video=0", "segment.ts?period=0&video=0&n=0&t=0", "init.mp4?period=0&video=0&n=0&t=0"] {
                    try await ProxyRun.expectRefusal(base + path, .clearContent, 403, of: run)
                }
            }
            await run.proxy.stop()
        }
    }

    @Test(arguments: policies) func `of the seed refuses encrypted samples by the name of their method`(
        policy: PlaylistProxy.Policy
    )
        async throws
    {
        let packages: [(package: ProtectedPackage, method: String)] = [
            (try await Self.transport(.sampleAES), "SAMPLE-AES"),
            (try await ProtectedPackage { $0.scheme = .cbcs }, "SAMPLE-AES"),
            (try await ProtectedPackage { $0.scheme = .cenc }, "SAMPLE-AES-CTR"),
        ]
        for (package, method) in packages {
            var keys = package.keys
            keys.add(ProtectedPackage.videoKey.key, for: .address("https://keys.example/00112233445566778899aabbccddeeff"))
            let run = try ProxyRun { $0.policy = policy }
            let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
            if policy == .seed {
                let got = try await ProxyRun.get(session.url)
                #expect(got.status == 415)
                #expect(String(decoding: got.body, as: UTF8.self).contains("\(method) is not taken by this policy"))
                #expect(run.codes == [.unsupported])
            } else {
                let segment = try #require(try await ProxyRun.segments(of: session).first)
                #expect(try await ProxyRun.get(segment).status == 200)
                #expect(run.codes == [])
            }
            await run.proxy.stop()
        }
    }

    @Test func `of the seed refuses a method that only a later playlist has`() async throws {
        let package = try await Self.transport(.aes128)
        package.write("audio-1.m3u8", try package.text("audio-1.m3u8").replacing("METHOD=AES-128", with: "METHOD=SAMPLE-AES"))
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .address("https://keys.example/00112233445566778899aabbccddeeff"))
        let run = try ProxyRun { $0.policy = .seed }
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        #expect(try await ProxyRun.get(segment).status == 200)
        let audio = session.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        try await ProxyRun.expectRefusal(audio, .unsupported, 415, of: run)
        await run.proxy.stop()
    }

    @Test(arguments: policies) func `takes DASH of the live profile, clear and protected`(policy: PlaylistProxy.Policy)
        async throws
    {
        for folder in ["number-clear", "timeline-cenc"] {
            let (path, keys) = try `A DASH source`.source(folder)
            let run = try ProxyRun { $0.policy = policy }
            let session = try run.proxy.makeURL(path, .dash, keys: keys)
            let segment = try #require(try await ProxyRun.segments(of: session).first)
            #expect(try await ProxyRun.get(segment).status == 200)
            #expect(run.codes == [])
            await run.proxy.stop()
        }
    }

    @Test(arguments: policies) func `of the seed takes DASH of no other profile`(policy: PlaylistProxy.Policy) async throws {
        let (path, keys) = try `A DASH source`.source("ondemand-cbcs")
        let run = try ProxyRun { $0.policy = policy }
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        let got = try await ProxyRun.get(session.url)
        #expect(got.status == (policy == .seed ? 415 : 200))
        #expect(run.codes == (policy == .seed ? [.unsupported] : []))
        await run.proxy.stop()
    }
}
