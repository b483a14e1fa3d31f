// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `An HLS origin that fails for a moment` {
    private let origin = MadeOrigin()
    private let run: ProxyRun
    private let session: PlaylistProxy.Session

    init() throws {
        run = try ProxyRun()
        session = try run.proxy.makeURL(origin.url("film.m3u8"), .hls)
        origin.put("film.key", MarkedSegment.key)
        for number in 0..<10 {
            origin.put("\(number).ts", try MarkedSegment(UInt8(number), number: number, packets: 700).encrypted)
        }
        origin.put("film.m3u8", Self.list(0..<10) + "#EXT-X-ENDLIST\n")
    }

    private static func list(_ numbers: Range<Int>) -> String {
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n"
        text += "#EXT-X-KEY:METHOD=AES-128,URI=\"film.key\"\n"
        for number in numbers { text += "#EXTINF:1,\n\(number).ts\n" }
        return text
    }

    private func requests(_ name: String) -> Int { origin.requests.count { $0 == name } }

    /// Asks for all segments at the same time.
    private static func burst(_ addresses: [String]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, address) in addresses.enumerated() {
                group.addTask {
                    let got = try await ProxyRun.get(address)
                    let clear = try MarkedSegment(UInt8(number), packets: 700).clear
                    #expect(got.status == 200 && got.body == clear, "\(number)")
                }
            }
            try await group.waitForAll()
        }
    }

    static let faults: [MadeOrigin.Manner] = [
        .status(503), .status(429), .status(500), .reset(after: 0), .reset(after: 40), .cut(after: 40),
    ]

    @Test(arguments: faults.indices) func `is asked again for playlists`(fault: Int) async throws {
        origin.put("top.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nfilm.m3u8\n")
        for name in ["top.m3u8", "film.m3u8"] { origin.serve(name, .first(1, Self.faults[fault])) }
        let session = try run.proxy.makeURL(origin.url("top.m3u8"), .hls)
        #expect(try await ProxyRun.segments(of: session).count == 10)
        #expect(requests("top.m3u8") == 2 && requests("film.m3u8") == 2)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: faults.indices) func `is asked again for keys and initialization sections`(fault: Int) async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cbcs
            options.keyURI = "/keys/{kid}"
        }
        let origin = MadeOrigin(folder: package.path)
        let (key, map) = ("keys/00112233445566778899aabbccddeeff", "video-1/init.mp4")
        origin.put(key, try #require(package.bytes(ofKey: "00112233445566778899aabbccddeeff")))
        let session = try run.proxy.makeURL(origin.url("master.m3u8"), .hls)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let text = try package.text("video-1.m3u8")
        #expect(text.contains("URI=\"\(map)\""), "\(text)")
        for name in [key, map] { origin.serve(name, .first(1, Self.faults[fault])) }
        #expect(try await ProxyRun.get(segment).status == 200)
        // a key is shorter than what the last two send
        #expect(fault > 3 || origin.requests.count { $0 == key } == 2)
        #expect(origin.requests.count { $0 == map } == 2)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `is not asked for ever, nor for a playlist that does not exist`() async throws {
        origin.serve("film.m3u8", .status(500))
        #expect(try await ProxyRun.get(session.url).status == 502)
        #expect(requests("film.m3u8") == 3)
        origin.remove("film.m3u8")
        origin.serve("film.m3u8", .plain)
        #expect(try await ProxyRun.get(session.url).status == 404)
        #expect(requests("film.m3u8") == 4)
        #expect(run.codes == [.unavailable, .missing])
        await run.proxy.stop()
    }

    @Test(arguments: [429, 503]) func `hides ten refusals of a segment from the player if the origin then continues`(
        status: Int
    )
        async throws
    {
        let addresses = try await ProxyRun.segments(of: session)
        origin.serve("3.ts", .first(10, .status(status)))
        let got = try await ProxyRun.get(addresses[3])
        let clear = try MarkedSegment(3, packets: 700).clear
        #expect(got.status == 200 && got.body == clear)
        #expect(requests("3.ts") == 11)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [429, 503]) func `and refuses each of a burst is not noticed by the player`(status: Int) async throws {
        let addresses = try await ProxyRun.segments(of: session)
        for number in 0..<10 { origin.serve("\(number).ts", .first(1, .status(status))) }
        try await Self.burst(addresses)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `or is whole serves a player that asks for ten segments at the same time`() async throws {
        let addresses = try await ProxyRun.segments(of: session)
        for _ in 0..<3 { try await Self.burst(addresses) }
        #expect(run.codes == [])
        // the key is asked for once
        #expect(requests("film.key") == 1)
        await run.proxy.stop()
    }

    @Test func `and refuses for long has a code, and other segments play`() async throws {
        let addresses = try await ProxyRun.segments(of: session)
        origin.serve("3.ts", .status(503))
        let began = ContinuousClock.now
        try await ProxyRun.expectRefusal(addresses[3], .unavailable, 502, of: run)
        #expect(began.duration(to: .now) < .seconds(25))
        #expect(try await ProxyRun.get(addresses[4]).status == 200)
        await run.proxy.stop()
    }

    @Test func `while it is live keeps its list`() async throws {
        origin.put("film.m3u8", Self.list(0..<4))
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0")
        let before = try await ProxyRun.text(list)
        origin.put("film.m3u8", Self.list(1..<5))
        origin.serve("film.m3u8", .status(503))
        run.clock.advance(by: .milliseconds(600))
        let began = ContinuousClock.now
        #expect(try await ProxyRun.text(list) == before)
        #expect(began.duration(to: .now) < .seconds(8))
        origin.serve("film.m3u8", .first(2, .status(503)))
        run.clock.advance(by: .milliseconds(600))
        #expect(try await ProxyRun.text(list).contains("#EXT-X-MEDIA-SEQUENCE:1\n"))
        // one that sends no response
        origin.serve("film.m3u8", .mute)
        run.clock.advance(by: .milliseconds(600))
        let asked = ContinuousClock.now
        #expect(try await ProxyRun.text(list).contains("#EXT-X-MEDIA-SEQUENCE:1\n"))
        #expect(asked.duration(to: .now) < .seconds(8))
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
