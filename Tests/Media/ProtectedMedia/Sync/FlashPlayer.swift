// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

/// A player that gives what it decodes with its times.
package enum FlashPlayer: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// ffmpeg of Debian.
    case ffmpeg
    /// A newer ffmpeg, which reads no MPD.
    case newFFmpeg
    case mpv, gstreamer, vlc

    package var testDescription: String { rawValue }

    /// Whether the player reads a manifest of DASH.
    package var readsDASH: Bool { self != .newFFmpeg }

    /// Plays a URL to its end.
    ///
    /// - Parameter url: a playlist, a manifest or a file.
    /// - Returns: the times of its flashes and beeps.
    /// - Throws: what skips the test; ``ProcessError``.
    package func measure(_ url: String) async throws -> FlashTimes {
        let directory = TemporaryDirectory()
        switch self {
        case .ffmpeg: return try await Self.look(url, try requirePeer("ffmpeg"))
        case .newFFmpeg: return try await Self.look(url, try StreamingPeer.ffmpeg.path())
        case .mpv:
            let played = directory.file("played.nut")
            let words = [
                "--no-config", "--msg-level=all=warn", "--term-status-msg=", "--of=nut", "--ovc=rawvideo", "--oac=pcm_s16le",
            ]
            return try await Self.look([try requirePeer("mpv")] + words + ["--o=\(played)", url], played)
        case .gstreamer:
            let played = directory.file("played.mkv")
            let queue = "queue max-size-time=0 max-size-bytes=0 max-size-buffers=0 !"
            let line =
                "uridecodebin3 name=all uri=\(url) all. ! \(queue) videoconvert ! jpegenc ! mux. "
                + "all. ! \(queue) audioconvert ! audio/x-raw,format=S16LE ! mux. matroskamux name=mux ! filesink location=\(played)"
            return try await Self.look(
                [try requirePeer("gst-launch-1.0"), "-q"] + line.split(separator: " ").map(String.init),
                played
            )
        case .vlc:
            // what it decodes has the times of an encoder; what it demultiplexes has its own
            let played = directory.file("played.mkv")
            let sink = "#std{access=file,mux=avformat{mux=matroska},dst=\(played)}"
            let vlc = [try requirePeer("vlc"), "-I", "dummy", "--ignore-config", "--no-media-library", "--play-and-exit"]
            return try await Self.look(
                try await Self.anotherUser() + vlc + ["--sout", sink, url],
                played,
                [
                    "HOME": directory.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                ]
            )
        }
    }

    /// Runs a player that writes a file, and looks at the file.
    private static func look(_ player: [String], _ played: String, _ environment: [String: String]? = nil) async throws
        -> FlashTimes
    {
        let result = try await runProcess(player, environment: environment, timeout: .seconds(60))
        guard unsafe access(played, R_OK) == 0 else {
            var times = FlashTimes()
            times.words = result.errorText
            return times
        }
        var times = try await look(played, try requirePeer("ffmpeg"))
        times.words += result.errorText
        return times
    }

    /// Finds flashes and beeps with filters of ffmpeg.
    private static func look(_ source: String, _ ffmpeg: String) async throws -> FlashTimes {
        let result = try await runProcess([
            ffmpeg, "-nostdin", "-hide_banner", "-nostats", "-i", source, "-map", "0:v:0", "-fps_mode", "passthrough", "-vf",
            "scale=16:16,signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-", "-f", "null", "-", "-map", "0:a:0", "-af",
            "silencedetect=noise=-26dB:d=0.3", "-f", "null", "-",
        ])
        var times = FlashTimes()
        func value(_ name: String, in line: Substring) -> Double? {
            guard let range = line.firstRange(of: name) else { return nil }
            return Double(line[range.upperBound...].prefix { $0.isNumber || $0 == "." || $0 == "-" })
        }
        var time: Double?
        var wasWhite = false
        for line in result.text.split(separator: "\n") {
            if let next = value("pts_time:", in: line) { time = next }
            guard let light = value("lavfi.signalstats.YAVG=", in: line), let time else { continue }
            times.times.append(time)
            if light > 150, !wasWhite { times.flashes.append(time) }
            wasWhite = light > 150
        }
        times.beeps = result.errorText.split(separator: "\n").compactMap { value("silence_end: ", in: $0) }
        if times.pictures == 0 { times.words = result.errorText }
        return times
    }

    /// VLC refuses to run as root: so it runs as the same user, who has another number in its namespace.
    ///
    /// - Returns: the words before its own.
    package static func anotherUser() async throws -> [String] {
        guard geteuid() == 0 else { return [] }
        let words = [try requirePeer("unshare"), "--user", "--map-user=1000"]
        guard try await runProcess(words + ["true"]).status.isSuccess else {
            try Test.cancel("unshare gives no user namespaces: VLC does not run as root")
        }
        return words
    }
}
