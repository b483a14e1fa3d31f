// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// The packets that ffmpeg reads of a live source.
enum LivePackets {
    /// Checks that packets of pictures (25 a second) and audio (48 kHz) follow one another without a gap.
    static func expectNoGap(_ url: String, seconds: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let arguments = [
            ffmpeg, "-v", "warning", "-nostdin", "-i", url, "-t", "\(seconds)", "-map", "0:v:0", "-map", "0:a:0", "-c", "copy",
            "-f",
            "framecrc", "-",
        ]
        let result = try await runProcess(arguments, timeout: .seconds(seconds + 60))
        let packets = result.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: ",").prefix(3).compactMap { Int64($0.drop { $0 == " " }) } }
        for (stream, step, rate) in [(Int64(0), Int64(3600), 25), (1, 1920, 46)] {
            let times = packets.filter { $0[0] == stream }.map { $0[1] }
            #expect(times.count > rate * (seconds - 1), "stream \(stream)", sourceLocation: sourceLocation)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }.filter { abs($0 - step) > 2 }
            #expect(gaps == [], "stream \(stream)", sourceLocation: sourceLocation)
        }
        #expect(result.errorText == "", sourceLocation: sourceLocation)
    }

    /// A live encoder of 25 pictures a second with audio, with a sync picture each second.
    static func encoder(_ seconds: Int, _ output: [String]) throws -> BackgroundProcess {
        try BackgroundProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-f",
                "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "\(seconds)", "-c:v", "libx264", "-preset",
                "ultrafast",
                "-pix_fmt", "yuv420p", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-c:a", "aac",
            ] + output
        )
    }
}
