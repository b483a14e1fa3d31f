// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Pictures and audio of DASH` {
    private let origin = MadeOrigin()
    private static let even = [2000, 2000, 2000]
    private static let other = [3000, 3000]

    private func session(_ manifest: MadeManifest, _ policy: PlaylistProxy.Policy = .usual) throws -> (
        run: ProxyRun, session: PlaylistProxy.Session
    ) {
        origin.put("made.mpd", manifest.text)
        let run = try ProxyRun { $0.policy = policy }
        return (run, try run.proxy.makeURL(origin.url("made.mpd"), .dash))
    }

    private static func manifest(_ audio: [[Int]], first: Int = 0) -> MadeManifest {
        MadeManifest(
            periods: audio.enumerated().map { place, durations in
                .init(start: place * 6, duration: 6, tracks: [.video(even), .audio(durations, first: place == 0 ? first : 0)])
            }
        )
    }

    @Test func `go out together where each segment of pictures has its own of audio`() async throws {
        let (run, session) = try session(Self.manifest([[2020, 1990, 1990], [1900, 1600, 2500]]))
        let top = try await ProxyRun.text(session.url)
        #expect(!top.contains("TYPE=AUDIO"))
        let segments = try await ProxyRun.segments(of: session).map { $0.split(separator: "?").last ?? "" }
        #expect(
            segments == [
                "period=0&video=0&audio=0&n=0&t=0&an=0&at=0", "period=0&video=0&audio=0&n=1&t=2000&an=1&at=2020",
                "period=0&video=0&audio=0&n=2&t=4000&an=2&at=4010", "period=6000&video=0&audio=0&n=0&t=0&an=0&at=0",
                "period=6000&video=0&audio=0&n=1&t=2000&an=1&at=1900", "period=6000&video=0&audio=0&n=2&t=4000&an=2&at=3500",
            ]
        )
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [[[3000, 3000], [2000, 2000, 2000]], [[2000, 2000, 2000], [3000, 3000]], [[2000, 2000, 2000, 1500]]])
    func `go out apart where one period is cut differently`(audio: [[Int]]) async throws {
        let (run, session) = try session(Self.manifest(audio))
        let top = try await ProxyRun.text(session.url)
        #expect(top.contains("TYPE=AUDIO") && top.contains("AUDIO=\"audio\""))
        #expect(try await ProxyRun.segments(of: session).allSatisfy { !$0.contains("audio=") })
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        #expect(try await ProxyRun.addresses(list).count == audio.reduce(0) { $0 + $1.count })
        #expect(run.codes == [])
        await run.proxy.stop()
        let (strict, refused) = try self.session(Self.manifest(audio), .compatible)
        try await ProxyRun.expectRefusal(refused.url, .unsupported, 415, of: strict)
        await strict.proxy.stop()
    }

    @Test(arguments: [(2000, 2005, nil, true), (2000, 2005, 60, false), (2000, 2005, 2000, true), (2000, 2000, nil, false)])
    func `of a live source go out apart from the beginning where they will drift`(
        video: Int,
        audio: Int,
        length: Int?,
        isApart: Bool
    ) async throws {
        let period = MadeManifest.Period(
            start: 990,
            duration: length,
            tracks: [.video([], step: video), .audio([], step: audio)]
        )
        let manifest = MadeManifest(periods: [period], isLive: true, window: 8)
        for policy in [PlaylistProxy.Policy.usual, .compatible] {
            let (run, session) = try session(manifest, policy)
            if isApart, policy == .compatible {
                try await ProxyRun.expectRefusal(session.url, .unsupported, 415, of: run)
            } else {
                #expect(try await ProxyRun.text(session.url).contains("TYPE=AUDIO") == isApart)
                #expect(try await ProxyRun.segments(of: session).count >= 2)
            }
            await run.proxy.stop()
        }
    }

    @Test func `of a live timeline that drifts go out apart, and one that is rounded does not`() async throws {
        let video = [Int](repeating: 2000, count: 30)
        for (audio, isApart) in [(2005, true), (2001, false)] {
            let durations = [Int](repeating: audio, count: 30)
            let period = MadeManifest.Period(start: 0, tracks: [.video(video), .audio(durations)])
            let (run, session) = try session(MadeManifest(periods: [period], isLive: true))
            #expect(try await ProxyRun.text(session.url).contains("TYPE=AUDIO") == isApart)
            await run.proxy.stop()
        }
    }

    @Test func `of a live source whose later period is cut differently are refused by name, and go out apart to who plays again`()
        async throws
    {
        var manifest = MadeManifest(
            periods: [.init(start: 0, tracks: [.video(Self.even), .audio(Self.even)])],
            isLive: true
        )
        let (run, session) = try session(manifest)
        let list = try await ProxyRun.media(of: session)
        #expect(try await ProxyRun.addresses(list).count == 3)
        manifest.periods.append(.init(start: 6, tracks: [.video(Self.even), .audio(Self.other)]))
        origin.put("made.mpd", manifest.text)
        run.clock.advance(by: .milliseconds(1050))
        try await ProxyRun.expectRefusal(list, .unsupported, 415, of: run)
        #expect(try await ProxyRun.text(session.url).contains("TYPE=AUDIO"))
        #expect(try await ProxyRun.segments(of: session).count == 6)
        await run.proxy.stop()
    }
}
