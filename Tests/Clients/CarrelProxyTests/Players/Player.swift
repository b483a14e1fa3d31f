// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

/// A player that readers have, and what it makes of an address.
enum Player: String, CaseIterable, CustomTestStringConvertible {
    case ffmpeg, mpv, gstreamer, chromium, vlc

    var testDescription: String { rawValue }

    /// Whether it gives every frame that it decodes, as numbers.
    var givesFrames: Bool { self != .chromium && self != .vlc }
}

/// A player's decoded output: a digest of each picture, and audio as 16-bit samples of two channels.
struct Decoded: Sendable {
    var pictures: [String] = []
    var audio: [UInt8] = []
    /// Warnings and errors of the player.
    var complaints: [String] = []
    /// The last lines of the player's log, to explain a failure.
    var log: [String] = []

    /// Plays a file or an address with a player that gives frames.
    static func of(_ source: String, _ player: Player) async throws -> Decoded {
        switch player {
        case .mpv: try await mpv(source)
        case .gstreamer: try await gstreamer(source)
        default: try await ffmpeg(source)
        }
    }

    private static func ffmpeg(_ source: String) async throws -> Decoded {
        try await read("warning", ["-i", source], TemporaryDirectory())
    }

    /// mpv writes raw pictures and samples to a file, without waiting for a clock.
    private static func mpv(_ source: String) async throws -> Decoded {
        let directory = TemporaryDirectory()
        let made = directory.file("played.nut")
        let result = try await runProcess(
            [
                try requirePeer("mpv"), "--no-config", "--msg-level=all=warn", "--term-status-msg=", "--of=nut", "--ovc=rawvideo",
                "--oac=pcm_s16le", "--o=\(made)", source,
            ],
            timeout: .seconds(60)
        )
        #expect(result.status.isSuccess, "\(result.errorText)")
        var decoded = try await read("error", ["-i", made], directory)
        // A source of the fixtures has two boxes `avcC`. The other message says that audio was loaded after pictures, and nothing about
        // times: of HLS by ffmpeg and by Shaka Packager on a plain server, mpv 0.35 writes it in 3 of 12 runs on a busy machine, and of one
        // file in none of 14. `Pictures and sound of the proxy` measures the times of what mpv writes.
        let known = ["ignoring multiple glbl", "Audio/Video desync", "hardware, temporary CPU", "position will not match"]
        decoded.complaints += lines(of: result).filter { line in !known.contains { line.contains($0) } }
        return decoded
    }

    private static func gstreamer(_ source: String) async throws -> Decoded {
        let directory = TemporaryDirectory()
        let (pictures, samples) = (directory.file("pictures"), directory.file("samples"))
        let uri = source.hasPrefix("/") ? "file://\(source)" : source
        let queue = ["queue", "max-size-time=0", "max-size-bytes=0", "max-size-buffers=0", "!"]
        let result = try await runProcess(
            [
                "env", "GST_DEBUG=hlsdemux2:3,adaptivedemux2:3,downloadhelper:4,soup:3", "GST_DEBUG_NO_COLOR=1",
                "GST_DEBUG_FILE=\(directory.file("log"))", try requirePeer("gst-launch-1.0"), "-q", "uridecodebin3", "name=all",
                "uri=\(uri)", "all.", "!",
            ] + queue
                + [
                    "videoconvert", "!", "video/x-raw,format=I420", "!", "videocodectestsink", "location=\(pictures)", "all.",
                    "!",
                ]
                + queue
                + [
                    "audioconvert", "dithering=none", "!", "audio/x-raw,format=S16LE", "!", "filesink", "location=\(samples)",
                ],
            timeout: .seconds(60)
        )
        #expect(result.status.isSuccess, "\(result.errorText)")
        var decoded = try await read(
            "error",
            ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "320x180", "-i", pictures, "-f", "s16le", "-ac", "2", "-i", samples],
            directory
        )
        decoded.complaints += lines(of: result)
        let log = String(decoding: directory.read("log") ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        decoded.log = log.filter { $0.contains("WARN") || $0.contains("ERROR") }.suffix(20)
        return decoded
    }

    /// The digests and samples of what ffmpeg reads.
    private static func read(_ level: String, _ input: [String], _ directory: TemporaryDirectory) async throws -> Decoded {
        let (list, samples) = (directory.file("list"), directory.file("pcm"))
        let isSplit = input.count(where: { $0 == "-i" }) > 1
        let result = try await runProcess(
            [try requirePeer("ffmpeg"), "-v", level, "-nostdin"] + input + [
                "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", list, "-map", isSplit ? "1:a:0" : "0:a:0", "-f",
                "s16le", samples,
            ],
            timeout: .seconds(60)
        )
        #expect(result.status.isSuccess, "\(result.errorText)")
        let text = String(decoding: directory.read("list") ?? [], as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Decoded(
            pictures: lines.compactMap { $0.split(separator: ",").last.map { String($0.drop { $0 == " " }) } },
            audio: directory.read("pcm") ?? [],
            complaints: Self.lines(of: result).filter { !$0.hasSuffix("ignoring multiple glbl") }
        )
    }

    private static func lines(of result: ProcessResult) -> [String] {
        (result.text + "\n" + result.errorText).split(separator: "\n").map(String.init)
    }

    /// Whether the audio equals `clear`, except for the encoder's frames at both ends, which an edit list cuts off and a segment
    /// keeps.
    ///
    /// - Parameters:
    ///   - clear: the same player's output for the clear source.
    ///   - slack: samples that may be missing or more at each end.
    /// - Returns: whether all samples between the ends are equal.
    func hasAudio(of clear: [UInt8], slack: Int = 4096) -> Bool {
        let size = 4
        guard audio.count > 8 * slack * size, abs(audio.count - clear.count) <= 2 * slack * size else { return false }
        let probe = Array(clear[clear.count / 2 / size * size..<clear.count / 2 / size * size + 400])
        let middle = clear.count / 2 / size * size
        return (-slack...slack).contains { shift in
            let at = middle + shift * size
            guard at >= 0, at + probe.count <= audio.count, audio[at..<at + probe.count] == probe[...] else { return false }
            let first = max(2 * slack * size, -shift * size)
            let last = min(clear.count, audio.count - shift * size) - 2 * slack * size
            return clear[first..<last] == audio[first + shift * size..<last + shift * size]
        }
    }
}
