// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A live DASH source of ffmpeg` {
    private static let seconds = unsafe getenv("CARREL_LONG") == nil ? 30 : 300

    /// Both forms of addresses at a time, because what takes time is the live source.
    @Test func `plays without a gap`() async throws {
        try await withThrowingTaskGroup { group in
            for timeline in [0, 1] { group.addTask { try await Self.play(timeline: timeline) } }
            try await group.waitForAll()
        }
    }

    private static func play(timeline: Int) async throws {
        let folder = TemporaryDirectory()
        let encoder = try LivePackets.encoder(
            seconds + 20,
            [
                "-f", "dash", "-seg_duration", "1", "-use_template", "1", "-use_timeline", "\(timeline)", "-window_size", "6",
                "-extra_window_size", "6", folder.file("live.mpd"),
            ]
        )
        let origin = MadeOrigin(folder: folder.path)
        try await eventually { folder.read("live.mpd") != nil && folder.read("chunk-stream0-00003.m4s") != nil }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        try await LivePackets.expectNoGap(session.url, seconds: seconds)
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        await encoder.terminate()
    }
}
