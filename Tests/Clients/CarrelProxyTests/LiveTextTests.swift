// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Live subtitles of DASH` {
    @Test func `are asked for again at the edge, and given up when they stay away`() async throws {
        let origin = MadeOrigin()
        let period = MadeManifest.Period(start: 0, tracks: [.video([], step: 2000), .text([], step: 2000)])
        let manifest = MadeManifest(periods: [period], isLive: true, age: 100, window: 20)
        origin.put("made.mpd", manifest.text)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?text=0")
        let newest = try #require(try await ProxyRun.addresses(list).last)
        let number = try #require(newest.split(separator: "&n=").last.flatMap { Int($0.prefix { $0.isNumber }) })
        async let late = ProxyRun.get(newest)
        try await Task.sleep(for: .milliseconds(600))
        origin.put("t-\(number + 1).m4s", "WEBVTT\n\n00:00.000 --> 10:00.000\nLate\n")
        let got = try await late
        #expect(got.status == 200)
        #expect(String(decoding: got.body, as: UTF8.self).contains("Late"))
        #expect(2...12 ~= origin.requests.count { $0 == "t-\(number + 1).m4s" })
        #expect(run.codes == [])
        let old = newest.replacing("n=\(number)&t=\(number * 2000)", with: "n=3&t=6000")
        try await ProxyRun.expectRefusal(old, .windowPassed, 404, of: run)
        let early = newest.replacing("n=\(number)&t=\(number * 2000)", with: "n=900&t=1800000")
        try await ProxyRun.expectRefusal(early, .missing, 404, of: run)
        #expect(!origin.requests.contains("t-901.m4s"))
        await run.proxy.stop()
    }
}
