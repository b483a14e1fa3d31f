// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelTesting
import Testing

@testable import CarrelMediaSource
@testable import CarrelProxy

struct `A manifest whose parts multiply` {
    private let origin = MadeOrigin()

    /// The variants of a top playlist.
    private static func variants(_ text: String) -> Int {
        text.split(separator: "\n").count { $0.hasPrefix("#EXT-X-STREAM-INF") }
    }

    @Test func `delays no other session, and no other task of the app`() async throws {
        origin.put("large.mpd", LargeManifest.film(representations: 2000, isEven: false))
        origin.put("small.mpd", LargeManifest.film(representations: 2, segments: 10))
        let run = try ProxyRun()
        let large = try run.proxy.makeURL(origin.url("large.mpd"), .dash)
        let small = try run.proxy.makeURL(origin.url("small.mpd"), .dash)
        let loads = (0..<3).map { _ in Task { try await ProxyRun.text(large.url) } }
        try await eventually { origin.requests.contains("large.mpd") }
        try await Task.sleep(for: .milliseconds(300))
        for _ in 0..<5 {
            let began = ContinuousClock.now
            #expect(Self.variants(try await ProxyRun.text(small.url)) == 2)
            #expect(began.duration(to: .now) < .seconds(2))
        }
        for load in loads {
            let top = try await load.value
            // drifting renditions are served separately, and no player chooses among thousands
            #expect(top.contains("TYPE=AUDIO") && Self.variants(top) == 64)
        }
        await run.proxy.stop()
    }

    @Test func `is compared by its timelines, whatever their units`() async throws {
        origin.put("large.mpd", LargeManifest.film(representations: 2000))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("large.mpd"), .dash)
        let top = try await ProxyRun.text(session.url)
        #expect(!top.contains("TYPE=AUDIO") && Self.variants(top) == 64)
        // decided once: another request does not do the work again
        let began = ContinuousClock.now
        #expect(try await ProxyRun.text(session.url) == top)
        #expect(began.duration(to: .now) < .seconds(2))
        await run.proxy.stop()
    }

    @Test func `tells its protections without those that its representations inherit`() async throws {
        origin.put("large.mpd", LargeManifest.protected(descriptors: 900, representations: 8000))
        origin.put("init.mp4", try Fixtures.bytes("media/dash/number-clear/v-init.mp4"))
        for time in 0..<10 { origin.put("0-\(2 * time).m4s", try Fixtures.bytes("media/dash/number-clear/v-0001.m4s")) }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("large.mpd"), .dash)
        let began = ContinuousClock.now
        let summary = try await session.check()
        // a debug build, in parallel with other tests; all descriptors of all representations, each compared with each, take
        // minutes
        #expect(began.duration(to: .now) < .seconds(40))
        #expect(summary.protections.count == 900 && summary.variants.count == 64)
        await run.proxy.stop()
    }

    @Test func `is refused when its timelines are walked through too often`() async throws {
        var text = LargeManifest.live(entries: 20_000, representations: 0)
        var representations = ""
        for number in 0..<2000 {
            representations +=
                "<Representation id=\"\(number)\" bandwidth=\"1\"><SegmentTemplate startNumber=\"\(number)\"/></Representation>"
        }
        text = text.replacing("</AdaptationSet>", with: representations + "</AdaptationSet>")
        origin.put("large.mpd", text)
        let run = try ProxyRun()
        let began = ContinuousClock.now
        try await ProxyRun.expectRefusal(try run.proxy.makeURL(origin.url("large.mpd"), .dash).url, .manifest, 502, of: run)
        #expect(began.duration(to: .now) < .seconds(60))
        await run.proxy.stop()
    }
}
