// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `A live manifest` {
    private let origin = MadeOrigin()

    /// The requests for a manifest while four players ask for their playlists for some seconds.
    private func requests(_ manifest: MadeManifest, seconds: Int) async throws -> (count: Int, seconds: Double) {
        origin.put("made.mpd", manifest.text)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let list = try await ProxyRun.media(of: session)
        let began = ContinuousClock.now
        while began.duration(to: .now) < .seconds(seconds) {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { _ = try await ProxyRun.get(list) } }
                try await group.waitForAll()
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        let time = began.duration(to: .now) / .seconds(1)
        #expect(run.codes == [])
        await run.proxy.stop()
        return (origin.requests.count { $0 == "made.mpd" }, time)
    }

    private static func numbered(update: Int?) -> MadeManifest {
        let period = MadeManifest.Period(start: 0, tracks: [.video([], step: 2000), .audio([], step: 2000)])
        return MadeManifest(periods: [period], isLive: true, window: 20, updatePeriod: update)
    }

    private static func timeline(count: Int = 10, age: Int, update: Int?) -> MadeManifest {
        let durations = [Int](repeating: 2000, count: count)
        let period = MadeManifest.Period(start: 0, tracks: [.video(durations), .audio(durations)])
        return MadeManifest(periods: [period], isLive: true, age: age, updatePeriod: update)
    }

    /// Checks that there were several requests, and that some seconds lay between two of them.
    private static func expect(_ requests: (count: Int, seconds: Double), every period: Double) {
        #expect(requests.count >= 2 && Double(requests.count) <= requests.seconds / period + 1.5, "\(requests)")
    }

    @Test func `is read once in its update period while it has segments to come`() async throws {
        #expect(try await requests(Self.numbered(update: 60), seconds: 3).count == 1)
    }

    @Test func `is read again when its update period is over`() async throws {
        Self.expect(try await requests(Self.numbered(update: 2), seconds: 5), every: 2)
    }

    @Test func `whose segments are over is read earlier, but not before a quarter of its update period`() async throws {
        Self.expect(try await requests(Self.timeline(age: 1000, update: 8), seconds: 5), every: 2)
    }

    @Test func `whose timeline reaches further than now is not read early`() async throws {
        #expect(try await requests(Self.timeline(count: 100, age: 10, update: 40), seconds: 4).count == 1)
    }

    @Test func `that does not say that it changes is never read again`() async throws {
        #expect(try await requests(Self.timeline(age: 1000, update: nil), seconds: 3).count == 1)
    }

    @Test func `that changes at any time is read once a second`() async throws {
        Self.expect(try await requests(Self.numbered(update: 0), seconds: 3), every: 1)
    }
}
