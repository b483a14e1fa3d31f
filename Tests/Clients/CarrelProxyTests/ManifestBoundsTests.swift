// SPDX-License-Identifier: Apache-2.0

import CarrelDASH
import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import Testing

@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy

struct `The bounds of a manifest` {
    private let origin = MadeOrigin()

    private func media(_ clock: MonotonicClock = .system) throws -> MediaOrigin {
        var permissions = MediaOrigin.Permissions()
        permissions.clock = clock
        return try MediaOrigin(origin.url("live.mpd"), client: HTTPClient(), fields: [:], permissions)
    }

    @Test func `hold for the segments of all its periods together`() async throws {
        let sets = [("video", "avc1.64000C"), ("audio", "mp4a.40.2")].map { kind, codecs in
            """
            <AdaptationSet mimeType="\(kind)/mp4" contentType="\(kind)">\
            <SegmentTemplate media="$Number$.m4s" initialization="init.mp4" duration="1"/>\
            <Representation id="\(kind)" bandwidth="1" codecs="\(codecs)"/></AdaptationSet>
            """
        }
        let period = "<Period duration=\"PT150000S\">\(sets.joined())</Period>"
        let run = try ProxyRun()
        for count in 1...2 {
            let periods = String(repeating: period, count: count)
            origin.put("\(count).mpd", "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\">\(periods)</MPD>")
        }
        let short = try run.proxy.makeURL(origin.url("1.mpd"), .dash)
        let list = short.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        #expect(try await ProxyRun.get(list).status == 200)
        let long = try run.proxy.makeURL(origin.url("2.mpd"), .dash)
        let refused = long.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        try await ProxyRun.expectRefusal(refused, .manifest, 502, of: run)
        await run.proxy.stop()
    }

    @Test func `hold for the servers that are asked for the time`() async throws {
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<13)])
        let servers = (0..<20).map { "time-\($0)" }
        manifest.clock =
            "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"\(servers.joined(separator: " "))\"/>\n"
        origin.put("live.mpd", manifest.text)
        _ = try await ManifestReader(try media(), SessionThreads.forTests).current()
        #expect(origin.requests == ["live.mpd"] + servers.prefix(4))
    }

    @Test func `hold for the bytes of remote elements together`() async throws {
        let period = "<Period>\(String(repeating: " ", count: 6 << 20))</Period>"
        var links = ""
        for number in 0..<9 {
            origin.put("\(number).xml", period)
            links += "<Period xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"\(number).xml\"/>"
        }
        let text = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\">\(links)</MPD>"
        let media = try media()
        let address = origin.url("live.mpd")
        let error = await #expect(throws: ProxyError.self) {
            _ = try await RemoteElements.inserted(into: Array(text.utf8), of: address, media)
        }
        #expect(error?.code == .manifest)
        #expect(origin.requests.count == 3)
    }

    @Test func `refuse names that no playlist has`() throws {
        for query in ["video=0&text=1", "audio=0&text=1", "video=0&audio=1&pictures=1", "text=1&pictures=1"] {
            #expect(throws: ProxyError.self) { try SegmentName(Query(parsing: "period=0&\(query)&n=0&t=0")) }
        }
        let name = RenditionName(video: 1, audio: 2)
        #expect(name.main == RenditionName(video: 1))
    }

    @Test func `let an older manifest count that keeps coming`() async throws {
        let clock = SteppedClock()
        let reader = ManifestReader(try media(clock.monotonic), SessionThreads.forTests, longestReturn: .seconds(2))
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<13)], published: 30)
        origin.put("live.mpd", manifest.text)
        let newest = try await reader.current().mpd.publishTime
        manifest.published = 10
        origin.put("live.mpd", manifest.text)
        clock.advance(by: .milliseconds(1050))
        #expect(try await reader.current().mpd.publishTime == newest)
        clock.advance(by: .milliseconds(2100))
        let older = try #require(try await reader.current().mpd.publishTime)
        #expect(older < (try #require(newest)))
    }
}
