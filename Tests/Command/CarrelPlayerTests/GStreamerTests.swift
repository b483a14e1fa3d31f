// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// Not among the suites that are tried twice: a failure here is a fault.
@Suite(.serialized)
struct `GStreamer` {
    @Test func `plays every title to the end`() async throws {
        let gst = try requirePeer("gst-launch-1.0")
        let server = try await DemoServer()
        let directory = TemporaryDirectory()
        for title in server.titles {
            let sink = "audioconvert ! audio/x-raw,format=S16LE,channels=1 ! filesink location=\(directory.file("played.raw"))"
            let result = try await runProcess(
                [gst, "-q", "playbin", "uri=\(server.playlist(title))", "audio-sink=\(sink)", "video-sink=fakesink"],
                timeout: .seconds(180)
            )
            #expect(result.status.isSuccess, "\(result.errorText)")
            let samples = (directory.read("played.raw")?.count ?? 0) / 2
            let expected = try await `Players`().decode(["-i", server.playlist(title)]).count / 2
            #expect(abs(samples - expected) <= 4 * 1152, "\(title.source)")
        }
        _ = await server.stop()
    }

    @Test func `plays sound of other kinds to the end`() async throws {
        let gst = try requirePeer("gst-launch-1.0")
        let server = try await `Sound of other kinds`().serve()
        for title in server.titles {
            let result = try await runProcess(
                [gst, "-q", "playbin", "uri=\(server.playlist(title))", "audio-sink=fakesink", "video-sink=fakesink"],
                timeout: .seconds(120)
            )
            #expect(result.status.isSuccess, "\(result.errorText)")
        }
        _ = await server.stop()
    }
}
