// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `A live DASH source of a made origin` {
    private let origin = MadeOrigin()
    private let run: ProxyRun
    private let session: PlaylistProxy.Session
    private let list: String

    init() throws {
        run = try ProxyRun()
        for (name, file) in [("v-init.mp4", "v-init.mp4"), ("a-init.mp4", "a-init.mp4")] {
            origin.put(name, try Fixtures.bytes("media/dash/number-clear/\(file)"))
        }
        session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0")
    }

    /// The playlist that a player sees when the origin has a manifest.
    private func reload(_ manifest: LiveManifest?) async throws -> LiveList {
        if let manifest { origin.put("live.mpd", manifest.text) }
        // a manifest is read once a second at most
        run.clock.advance(by: .milliseconds(1050))
        return LiveList(try await ProxyRun.text(list))
    }

    /// Puts segments there, whose content does not matter.
    private func put(_ names: [String]) throws {
        for name in names {
            origin.put(name, try Fixtures.bytes("media/dash/number-clear/\(name.first ?? "v")-0001.m4s"))
        }
    }

    @Test func `keeps its numbers while segments and periods come and go, and ends`() async throws {
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<13)])
        #expect(try await reload(manifest) == LiveList(0, 0, [20, 22, 24]))
        #expect(try await !ProxyRun.text(session.url).contains("EXT-X-ENDLIST"))
        manifest.periods[0].segments = 11..<14
        #expect(try await reload(manifest) == LiveList(1, 0, [22, 24, 26]))
        manifest.periods = [.init(start: 0, segments: 12..<14), .init(start: 28, segments: 0..<1)]
        #expect(try await reload(manifest) == LiveList(2, 0, [24, 26, -28]))
        manifest.periods = [.init(start: 28, segments: 0..<3)]
        #expect(try await reload(manifest) == LiveList(4, 0, [-28, 30, 32]))
        manifest.periods = [.init(start: 28, segments: 1..<4)]
        #expect(try await reload(manifest) == LiveList(5, 1, [30, 32, 34]))
        manifest.isStatic = true
        #expect(try await reload(manifest) == LiveList(5, 1, [30, 32, 34], isEnded: true))
        #expect(try await ProxyRun.text(session.url).contains("EXT-X-ENDLIST"))
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `keeps its numbers when its rights end and are renewed`() async throws {
        let (clock, end) = (ManualClock(.now()), ContentKeyEnd())
        let granted = StreamRights(keys: GivenKeys(), end: end)
        let rights = TestRights(answering: .granted(granted))
        let session = try run.proxy.makeURL(TestRights.url(origin.url("live.mpd")), .dash, rights: rights, clock: clock)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0")
        origin.put("live.mpd", LiveManifest(periods: [.init(start: 0, segments: 10..<13)]).text)
        #expect(LiveList(try await ProxyRun.text(list)) == LiveList(0, 0, [20, 22, 24]))
        origin.put("live.mpd", LiveManifest(periods: [.init(start: 0, segments: 11..<14)]).text)
        run.clock.advance(by: .milliseconds(1050))
        end.move(to: clock.now)
        try await ProxyRun.expectRefusal(list, .expiredKey, 403, of: run)
        end.move(to: nil)
        #expect(LiveList(try await ProxyRun.text(list)) == LiveList(1, 0, [22, 24, 26]))
        await run.proxy.stop()
    }

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `names a segment and its initialization consistently while they are listed`(output: PlaylistProxy.Output) async throws {
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        let rendition = output == .fragments ? "video=0" : "video=0&audio=0"
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?\(rendition)")
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<14)])
        var known: [Substring] = []
        for step in 0..<3 {
            manifest.periods[0].segments = 10 + step..<14 + step
            if step == 2 { manifest.isStatic = true }
            origin.put("live.mpd", manifest.text)
            run.clock.advance(by: .milliseconds(1050))
            let lines = try await ProxyRun.text(list).split(separator: "\n")
            let addresses = lines.filter { !$0.hasPrefix("#") }
            let maps = lines.filter { $0.hasPrefix("#EXT-X-MAP") }
            #expect(addresses.count == 4)
            if step > 0 { #expect(addresses.dropLast() == known.dropFirst()) }
            known = addresses
            if output == .fragments { #expect(maps == ["#EXT-X-MAP:URI=\"init.mp4?period=0&video=0\""]) }
        }
        await run.proxy.stop()
    }

    @Test func `opens the next segment of a timeline before the player asks for it`() async throws {
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<14)])
        try put((10..<16).flatMap { ["v-0-\($0 * 2000).m4s", "a-0-\($0 * 2000).m4s"] })
        _ = try await reload(manifest)
        for first in 11..<13 {
            // the segment is named by the current list
            manifest.periods[0].segments = first..<first + 4
            _ = try await reload(manifest)
            let address = try #require(try await ProxyRun.addresses(list).first)
            #expect(try await ProxyRun.get(address).status == 200)
            let next = "v-0-\((first + 1) * 2000).m4s"
            try await eventually { origin.requests.contains(next) }
        }
        #expect(origin.requests.count { $0 == "v-0-24000.m4s" } == 1)
        await run.proxy.stop()
    }

    @Test func `ends at the end that was known from the beginning, not before`() async throws {
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 98, end: 100, window: 10)
        #expect(try await !reload(manifest).isEnded)
        // the time of the presentation is the system's
        try await Task.sleep(for: .milliseconds(2100))
        let ended = try await reload(nil)
        #expect(ended.isEnded)
        #expect(ended.segments.last == 98)
        await run.proxy.stop()
    }

    @Test func `follows Location, and neither an older manifest nor an origin that is away takes anything back`() async throws {
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<13)], published: 10)
        manifest.location = "other/moved.mpd"
        #expect(try await reload(manifest) == LiveList(0, 0, [20, 22, 24]))
        manifest.location = nil
        manifest.published = 20
        manifest.periods[0].segments = 11..<14
        origin.put("other/moved.mpd", manifest.text)
        #expect(try await reload(nil) == LiveList(1, 0, [22, 24, 26]))
        manifest.published = 15
        manifest.periods[0].segments = 10..<13
        origin.put("other/moved.mpd", manifest.text)
        #expect(try await reload(nil) == LiveList(1, 0, [22, 24, 26]))
        origin.isAway = true
        for _ in 0..<2 { #expect(try await reload(nil) == LiveList(1, 0, [22, 24, 26])) }
        origin.isAway = false
        origin.put("other/moved.mpd", "<MPD")
        #expect(try await reload(nil) == LiveList(1, 0, [22, 24, 26]))
        manifest.published = 30
        manifest.periods[0].segments = 12..<16
        origin.put("other/moved.mpd", manifest.text)
        #expect(try await reload(nil) == LiveList(2, 0, [24, 26, 28, 30]))
        await run.proxy.stop()
    }

    @Test func `does not make a player wait for an origin that does not answer`() async throws {
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 10..<13)])
        #expect(try await reload(manifest) == LiveList(0, 0, [20, 22, 24]))
        origin.serve("live.mpd", .mute)
        let began = ContinuousClock.now
        #expect(try await reload(nil) == LiveList(0, 0, [20, 22, 24]))
        #expect(began.duration(to: .now) < .seconds(6))
        await run.proxy.stop()
    }

    @Test(arguments: ["direct", "http-iso", "http-head"]) func `takes the time of the clock that the manifest names`(
        scheme: String
    )
        async throws
    {
        // the server's clock is five minutes ahead of this machine's
        let ahead = Duration.seconds(300)
        var manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100 - 300, window: 10)
        let time = Instant.now() + ahead
        origin.put("time", "\(time)")
        origin.setDate("time", time.httpDate)
        manifest.clock =
            "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:\(scheme):2014\" value=\"\(scheme == "direct" ? "\(time)" : "time")\"/>\n"
        origin.put("live.mpd", manifest.text)
        let list = LiveList(try await ProxyRun.text(list))
        // complete segments of the last ten seconds
        // a date has whole seconds
        #expect((scheme == "http-head" ? 96 : 98)...98 ~= list.segments.last ?? 0)
        #expect(4...8 ~= list.segments.count, "\(list.segments)")
        await run.proxy.stop()
    }

    @Test func `asks again for a segment at the edge that is not there yet`() async throws {
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100, window: 20)
        origin.put("live.mpd", manifest.text)
        let newest = try #require(try await ProxyRun.addresses(list).last)
        #expect(newest.contains("n=49&"))
        try put(["a-49.m4s"])
        async let late = ProxyRun.get(newest)
        try await Task.sleep(for: .milliseconds(700))
        try put(["v-49.m4s"])
        #expect(try await late.status == 200)
        #expect(3...12 ~= origin.requests.count { $0 == "v-49.m4s" })
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `gives up a segment that stays away, and one that has left the window`() async throws {
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100, window: 20)
        origin.put("live.mpd", manifest.text)
        let newest = try #require(try await ProxyRun.addresses(list).last)
        let began = ContinuousClock.now
        #expect(try await ProxyRun.get(newest).status == 404)
        #expect(Duration.seconds(1)...Duration.seconds(4) ~= began.duration(to: .now))
        let old = newest.replacing("n=49&t=98000&an=49&at=98000", with: "n=3&t=6000&an=3&at=6000")
        #expect(try await ProxyRun.get(old).status == 404)
        let early = newest.replacing("n=49&t=98000&an=49&at=98000", with: "n=90&t=180000&an=90&at=180000")
        #expect(try await ProxyRun.get(early).status == 404)
        #expect(run.errors.withLock { $0.map(\.code.identifier) } == ["proxy.missing", "proxy.window-passed", "proxy.missing"])
        #expect(!origin.requests.contains("v-90.m4s"))
        await run.proxy.stop()
    }

    @Test func `is not asked for a segment that does not exist yet`() async throws {
        let began = ContinuousClock.now
        let manifest = LiveManifest(periods: [.init(start: 0, segments: 0..<0)], age: 100, window: 20)
        origin.put("live.mpd", manifest.text)
        try put((40..<60).flatMap { ["v-\($0).m4s", "a-\($0).m4s"] })
        let addresses = try await ProxyRun.addresses(list)
        let second = try #require(addresses.dropLast().last)
        #expect(try await ProxyRun.get(second).status == 200)
        try await eventually { origin.requests.contains("v-49.m4s") && origin.requests.contains("a-49.m4s") }
        #expect(try await ProxyRun.get(try #require(addresses.last)).status == 200)
        try await Task.sleep(for: .milliseconds(100))
        #expect(origin.requests.count { $0 == "v-49.m4s" } == 1)
        // a segment of two seconds exists when it is complete
        let existing = Int(began.duration(to: .now) / .seconds(1) + 100) / 2 - 1
        let numbers = origin.requests.compactMap { $0.hasPrefix("v-") ? Int($0.dropFirst(2).prefix { $0 != "." }) : nil }
        #expect(numbers.allSatisfy { $0 <= existing }, "\(numbers)")
        await run.proxy.stop()
    }
}
