// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTesting

/// The results of ffmpeg and ffprobe for a file.
enum MediaTools {
    struct Packet: Equatable {
        var offset: Int64
        var size: Int
    }

    /// The packets of the first audio stream, in file order.
    static func packets(_ path: String) async throws -> [Packet] {
        let text = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pos,size", "-of",
            "compact=p=0", path,
        ])
        return text.split(separator: "\n").compactMap { line in
            var size: Int?
            var offset: Int64?
            for field in line.split(separator: "|") {
                if field.hasPrefix("size=") { size = Int(field.dropFirst(5)) }
                if field.hasPrefix("pos=") { offset = Int64(field.dropFirst(4)) }
            }
            guard let size, let offset else { return nil }
            return Packet(offset: offset, size: size)
        }
    }

    /// The first audio stream as ADTS, by ffmpeg.
    static func adts(_ path: String) async throws -> [UInt8] {
        let result = try await runProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", path, "-map", "0:a:0", "-c", "copy", "-f", "adts", "-",
        ])
        return result.output
    }

    /// Samples of one channel that ffmpeg decodes of the first audio stream, without dropping any at the ends.
    static func decodedSamples(_ path: String, rate: Int) async throws -> Int {
        let result = try await runProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-flags2", "+skip_manual", "-i", path, "-map", "0:a:0", "-ac", "1", "-ar",
            "\(rate)",
            "-f", "s16le", "-",
        ])
        return result.output.count / 2
    }

    /// Makes a file of synthetic sound.
    static func make(_ path: String, seconds: Int = 6, _ options: [String]) async throws {
        let source = "anoisesrc=d=\(seconds):c=pink:r=44100:a=0.3"
        try await checkProcess([try requirePeer("ffmpeg"), "-v", "error", "-y", "-f", "lavfi", "-i", source] + options + [path])
    }
}

/// A file opened with what a test has in memory.
func open(_ bytes: [UInt8]) throws -> MP4File { try MP4File(BytesReader(bytes)) }

/// All samples of a walk.
func all(_ samples: MP4Samples) throws -> [MP4Sample] {
    var samples = samples
    var found: [MP4Sample] = []
    while let sample = try samples.next() { found.append(sample) }
    return found
}

/// The ADTS frames of a file's main track.
func frames(_ file: MP4File, allowsTruncation: Bool = false) throws -> (bytes: [UInt8], summary: MP4File.StreamSummary) {
    guard let track = file.mainAudioTrack else { throw Malformed("no sound", at: 0) }
    var bytes: [UInt8] = []
    let summary = try file.stream(track, allowsTruncation: allowsTruncation) { span, _ in bytes.append(copying: span) }
    return (bytes, summary)
}
