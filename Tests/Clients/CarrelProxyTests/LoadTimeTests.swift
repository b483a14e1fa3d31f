// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

struct `An origin that drips` {
    private static let manifest = "media/dash/number-clear"

    private static func run() throws -> ProxyRun { try ProxyRun { $0.limits.loadTime = .seconds(2) } }

    /// Checks that an address fails after the proxy's time limit, not the origin's.
    private static func expectEnd(of url: String, _ run: ProxyRun) async throws {
        let began = ContinuousClock.now
        try await ProxyRun.expectRefusal(url, .unavailable, 502, of: run)
        #expect((.seconds(1.5)...Duration.seconds(20)).contains(began.duration(to: .now)))
    }

    @Test func `a manifest ends after the time that the proxy has`() async throws {
        let (origin, run) = (MadeOrigin(folder: try Fixtures.path(Self.manifest)), try Self.run())
        origin.put("slow.mpd", Array(repeating: 0x20, count: 4000) + (try Fixtures.bytes("\(Self.manifest)/manifest.mpd")))
        origin.serve("slow.mpd", .drip(1))
        try await Self.expectEnd(of: try run.proxy.makeURL(origin.url("slow.mpd"), .dash).url, run)
        await run.proxy.stop()
    }

    @Test(arguments: ["master.m3u8", "media.m3u8"]) func `a playlist ends after the time that the proxy has`(slow: String)
        async throws
    {
        let (origin, run) = (
            MadeOrigin(),
            try ProxyRun { options in
                options.limits.loadTime = .seconds(2)
                options.policy = .open
            }
        )
        let comment = String(repeating: "#\n", count: 2000)
        origin.put("master.m3u8", "#EXTM3U\n\(comment)#EXT-X-STREAM-INF:BANDWIDTH=1000\nmedia.m3u8\n")
        origin.put("media.m3u8", "#EXTM3U\n\(comment)#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.ts\n#EXT-X-ENDLIST\n")
        origin.serve(slow, .drip(1))
        let session = try run.proxy.makeURL(origin.url("master.m3u8"), .hls)
        let url = slow == "master.m3u8" ? session.url : session.url.replacing("index.m3u8", with: "media.m3u8?video=0")
        try await Self.expectEnd(of: url, run)
        await run.proxy.stop()
    }

    @Test func `a file ends after the time that the proxy has`() async throws {
        let (origin, run) = (MadeOrigin(folder: try Fixtures.path("media/cenc")), try Self.run())
        let keys = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cenc.mp4" }).keys
        let session = try run.proxy.makeURL(origin.url("av.cenc.mp4"), .singleFile, keys: keys)
        origin.serve("av.cenc.mp4", .drip(16))
        try await Self.expectEnd(of: session.url, run)
        await run.proxy.stop()
    }

    @Test func `a segment has the time that its player takes`() async throws {
        let (origin, run) = (MadeOrigin(folder: try Fixtures.path(Self.manifest)), try Self.run())
        let session = try run.proxy.makeURL(origin.url("manifest.mpd"), .dash)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0")
        let segments = try await ProxyRun.addresses(list)
        let plain = try await ProxyRun.get(segments[1]).body
        let length = try Fixtures.bytes("\(Self.manifest)/v-0002.m4s").count
        origin.serve("v-0002.m4s", .drip(length / 300))
        let began = ContinuousClock.now
        #expect(try await ProxyRun.get(segments[1]).body == plain)
        #expect(began.duration(to: .now) > .seconds(2.5))
        await run.proxy.stop()
    }
}
