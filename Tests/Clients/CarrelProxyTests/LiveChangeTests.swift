// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `A live DASH source that changes` {
    private let origin = MadeOrigin()
    private let run: ProxyRun
    private let session: PlaylistProxy.Session

    init() throws {
        run = try ProxyRun()
        session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
    }

    /// The playlist that a player sees when the origin has a manifest.
    private func reload(_ manifest: String, _ tracks: String = "video=0&audio=0") async throws -> LiveList {
        origin.put("live.mpd", manifest)
        // a manifest is read once a second at most
        run.clock.advance(by: .milliseconds(1050))
        return try await list(tracks)
    }

    private func list(_ tracks: String) async throws -> LiveList {
        LiveList(try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?\(tracks)")))
    }

    @Test func `follows a clock that jumps ahead and back, with numbers that rise and a discontinuity at each jump`() async throws
    {
        let begin = Instant.now() - .seconds(1000)
        func manifest(_ time: Duration) -> String {
            var manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], window: 10)
            manifest.clock =
                "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"\(begin + .seconds(100) + time)\"/>\n"
            return manifest.text.replacing(#/availabilityStartTime="[^"]*"/#, with: "availabilityStartTime=\"\(begin)\"")
        }
        let first = try await reload(manifest(.zero))
        #expect(first.media == 0 && 98...104 ~= (first.segments.last ?? 0), "\(first)")
        let ahead = try await reload(manifest(.seconds(100)))
        #expect(ahead.media == first.segments.count)
        #expect(198...204 ~= (ahead.segments.last ?? 0) && (ahead.segments.first ?? 0) < 0, "\(ahead)")
        let back = try await reload(manifest(.zero))
        #expect(back.media == ahead.media + ahead.segments.count && back.discontinuities == 1)
        #expect(98...104 ~= (back.segments.last ?? 0) && (back.segments.first ?? 0) < 0, "\(back)")
        // an MPD out of a cache, whose time is a few seconds old, takes nothing back
        let cached = try await reload(manifest(.seconds(-4)))
        #expect((cached.segments.last ?? 0) >= (back.segments.last ?? 0))
        #expect(cached.media >= back.media && cached.segments.count <= 6)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `drops what a shrinking window drops, and does not bring it back when the window grows`() async throws {
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100, window: 30).text
        let first = try await reload(manifest)
        let small = try await reload(manifest.replacing("timeShiftBufferDepth=\"PT30S\"", with: "timeShiftBufferDepth=\"PT8S\""))
        let gone = ((small.segments.first ?? 0) - (first.segments.first ?? 0)) / 2
        #expect(gone >= 10 && small.media == gone && small.discontinuities == 0)
        let large = try await reload(manifest)
        #expect((large.segments.first ?? 0) >= (small.segments.first ?? 0) && large.media >= small.media)
        #expect(large.segments.count >= small.segments.count)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `continues playback after a missing segment`() async throws {
        for name in ["v-init.mp4", "a-init.mp4"] { origin.put(name, try Fixtures.bytes("media/dash/number-clear/\(name)")) }
        origin.put("live.mpd", LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100, window: 40).text)
        for number in 30..<60 where number != 40 {
            for name in ["v", "a"] {
                origin.put("\(name)-\(number).m4s", try Fixtures.bytes("media/dash/number-clear/\(name)-0001.m4s"))
            }
        }
        let segments = try await ProxyRun.addresses(session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0"))
        let place = try #require(segments.firstIndex { $0.contains("&n=40&") })
        #expect(try await ProxyRun.get(segments[place - 1]).status == 200)
        #expect(try await ProxyRun.get(segments[place]).status == 404)
        #expect(try await ProxyRun.get(segments[place + 1]).status == 200)
        #expect(run.codes == [.missing])
        await run.proxy.stop()
    }

    @Test func `keeps renditions in step when a period without one comes and goes`() async throws {
        typealias Track = MadeManifest.Track
        let even = [2000, 2000, 2000]
        let with = [Track.video(even), .text(even)]
        var manifest = MadeManifest(periods: [.init(start: 0, duration: 6, tracks: with)], isLive: true)
        let first = try await reload(manifest.text, "video=0")
        #expect(first == LiveList(0, 0, [0, 2, 4]))
        manifest.periods.append(.init(start: 6, duration: 6, tracks: [.video(even)]))
        let second = try await reload(manifest.text, "video=0")
        #expect(second == LiveList(0, 0, [0, 2, 4, -6, 8, 10]))
        manifest.periods.removeFirst()
        manifest.periods.append(.init(start: 12, duration: 6, tracks: with))
        let third = try await reload(manifest.text, "video=0")
        #expect(third == LiveList(3, 0, [-6, 8, 10, -12, 14, 16]))
        manifest.periods.removeFirst()
        manifest.periods.append(.init(start: 18, duration: 6, tracks: [.video(even)]))
        let fourth = try await reload(manifest.text, "video=0")
        #expect(fourth == LiveList(6, 1, [-12, 14, 16, -18, 20, 22]))
        // discontinuities are numbered like the video's, also if the player turns subtitles on late
        let text = try await list("text=0")
        let marks = text.segments.filter { $0 < 0 }.count
        #expect(text.segments.map { abs($0) } == [12, 14, 16, 18, 20, 22])
        #expect(text.discontinuities + marks == fourth.discontinuities + 2)
        let gaps = try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?text=0"))
        #expect(gaps.split(separator: "\n").count { $0 == "#EXT-X-GAP" } == 3)
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
