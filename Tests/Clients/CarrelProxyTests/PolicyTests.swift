// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `A policy` {
    private static let policies: [PlaylistProxy.Policy] = [.compatible, .usual, .open]

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
            if policy == .compatible {
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

    @Test(arguments: policies) func `judges each variant by itself`(policy: PlaylistProxy.Policy) async throws {
        // the second variant is clear, or has fragments whose protection no key line names
        let clear = try await ProtectedPackage { $0.scheme = nil }
        let unnamed = try await ProtectedPackage { $0.scheme = .cenc }
        for (package, isClear) in [(clear, true), (unnamed, false)] {
            let protected = try await Self.transport(.aes128)
            let lines = try package.text("video-1.m3u8").split(separator: "\n").filter { !$0.hasPrefix("#EXT-X-KEY") }
            protected.write("second.m3u8", lines.joined(separator: "\n").replacing("video-1/", with: "second-") + "\n")
            for name in ["init.mp4", "1.m4s"] {
                let bytes = try #require(package.directory.read("out/video-1/\(name)"))
                _ = protected.directory.write("out/second-\(name)", bytes)
            }
            let variant = "#EXT-X-STREAM-INF:BANDWIDTH=100000,CODECS=\"avc1.64000c\"\nsecond.m3u8\n"
            protected.write("master.m3u8", try protected.text("master.m3u8") + variant)
            let run = try ProxyRun { $0.policy = policy }
            let session = try run.proxy.makeURL(protected.playlist, .hls, keys: package.keys)
            #expect(try await ProxyRun.get(session.url).status == 200)
            let base = session.url.replacing("index.m3u8", with: "")
            #expect(try await ProxyRun.get(base + "media.m3u8?video=0").status == 200)
            let paths = ["media.m3u8?video=1", "segment.ts?period=0&video=1&n=0&t=0"]
            for path in paths {
                switch policy {
                case .usual where isClear, .compatible where isClear:
                    try await ProxyRun.expectRefusal(base + path, .clearContent, 403, of: run)
                case .compatible: try await ProxyRun.expectRefusal(base + path, .unsupported, 415, of: run)
                default: #expect(try await ProxyRun.get(base + path).status == 200)
                }
            }
            await run.proxy.stop()
        }
    }

    @Test func `of the seed refuses a method that only a later playlist has`() async throws {
        let package = try await Self.transport(.aes128)
        package.write("audio-1.m3u8", try package.text("audio-1.m3u8").replacing("METHOD=AES-128", with: "METHOD=SAMPLE-AES"))
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .address("https://keys.example/00112233445566778899aabbccddeeff"))
        let run = try ProxyRun { $0.policy = .compatible }
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
        #expect(got.status == (policy == .compatible ? 415 : 200))
        #expect(run.codes == (policy == .compatible ? [.unsupported] : []))
        await run.proxy.stop()
    }
}
