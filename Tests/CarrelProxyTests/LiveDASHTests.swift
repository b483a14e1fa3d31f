import CarrelThreads
import CarrelProxy
import CarrelTesting
import Glibc
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A live DASH source of ffmpeg` {
    private static let seconds = unsafe getenv("CARREL_LONG") == nil ? 12 : 300

    @Test(arguments: [0, 1]) func `plays without a gap`(timeline: Int) async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let folder = TemporaryDirectory()
        let encoder = try BackgroundProcess([
            ffmpeg, "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-f", "lavfi", "-i",
            "sine=frequency=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "25",
            "-keyint_min", "25", "-sc_threshold", "0", "-c:a", "aac", "-f", "dash", "-seg_duration", "1", "-use_template", "1",
            "-use_timeline", "\(timeline)", "-window_size", "6", "-extra_window_size", "6", "-t", "\(Self.seconds + 20)",
            folder.file("live.mpd"),
        ])
        let origin = MadeOrigin(folder: folder.path)
        try await eventually { folder.read("live.mpd") != nil && folder.read("chunk-stream0-00003.m4s") != nil }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        let arguments = [
            ffmpeg, "-v", "warning", "-nostdin", "-i", session.url, "-t", "\(Self.seconds)", "-map", "0:v:0", "-map", "0:a:0",
            "-c", "copy", "-f", "framecrc", "-",
        ]
        let result = try await runProcess(arguments, timeout: .seconds(Self.seconds + 60))
        let packets = result.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: ",").prefix(3).compactMap { Int64($0.drop { $0 == " " }) } }
        for (stream, step) in [(Int64(0), Int64(3600)), (1, 1920)] {
            let times = packets.filter { $0[0] == stream }.map { $0[1] }
            #expect(times.count > (stream == 0 ? 25 : 46) * (Self.seconds - 1), "stream \(stream)")
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }.filter { abs($0 - step) > 2 }
            #expect(gaps == [], "stream \(stream)")
        }
        #expect(result.errorText.split(separator: "\n").filter { !$0.contains("Opening") } == [])
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        await encoder.terminate()
    }
}
