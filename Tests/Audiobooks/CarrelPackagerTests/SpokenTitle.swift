// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelPackager
import CarrelTesting
import Glibc
import Testing

/// A title whose sound ffmpeg made and encoded, and its HLS on disk.
struct SpokenTitle: Sendable, CustomTestStringConvertible {
    let codec: AudioCodec
    let sampleRate: Int
    let channels: Int
    let encoder: [String]

    static let all = [
        SpokenTitle(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1, encoder: ["libmp3lame", "-b:a", "64k"]),
        SpokenTitle(codec: .mp3(.mpeg1), sampleRate: 48000, channels: 2, encoder: ["libmp3lame", "-q:a", "6"]),
        SpokenTitle(codec: .mp3(.mpeg2), sampleRate: 22050, channels: 1, encoder: ["libmp3lame", "-b:a", "32k"]),
        SpokenTitle(codec: .mp3(.mpeg25), sampleRate: 11025, channels: 1, encoder: ["libmp3lame", "-b:a", "16k"]),
        SpokenTitle(codec: .aac(.lc), sampleRate: 44100, channels: 2, encoder: ["aac", "-b:a", "96k"]),
        SpokenTitle(codec: .aac(.lc), sampleRate: 22050, channels: 1, encoder: ["aac", "-b:a", "32k"]),
        SpokenTitle(codec: .aac(.lc), sampleRate: 48000, channels: 1, encoder: ["aac", "-b:a", "64k"]),
    ]

    var testDescription: String { "\(codec) at \(sampleRate) Hz, \(channels) channel(s)" }

    var format: AudioFormat {
        get throws { try #require(AudioFormat(codec: codec, sampleRate: sampleRate, channels: channels)) }
    }

    var isMP3: Bool { if case .mp3 = codec { true } else { false } }

    /// The elementary stream of some seconds of a rising, pulsing tone.
    func encode(seconds: Int, with ffmpeg: String) async throws -> Media {
        let sound = "aevalsrc=0.4*sin(2*PI*t*(180+9*t))+0.2*sin(2*PI*2500*t)*gt(mod(t\\,1.7)\\,1):s=\(sampleRate):d=\(seconds)"
        let framing = isMP3 ? ["-write_xing", "0", "-id3v2_version", "0", "-f", "mp3"] : ["-f", "adts"]
        let result = try await runProcess(
            [ffmpeg, "-v", "error", "-f", "lavfi", "-i", sound, "-ac", "\(channels)", "-bitexact", "-c:a"] + encoder + framing
                + ["-"]
        )
        try #require(result.status.isSuccess, "\(result.errorText)")
        return try Media(format, stream: result.output)
    }
}

/// The files that a player receives: playlist, segments and keys.
struct PublishedTitle {
    static let ticket = "abcdefghijklmnopqrstuvwxyz_-"

    let directory = TemporaryDirectory()
    var playlist: String { directory.file("playlist.m3u8") }

    func segment(_ number: Int, _ codec: AudioCodec, _ form: SegmentForm) -> String {
        directory.file("\(Self.ticket)/\(number).\(form.fileExtension(for: codec))")
    }

    init(_ media: Media, form: SegmentForm, segmentsPerKey: Int? = nil, encrypted: Bool = true) throws {
        unsafe mkdir(directory.file(Self.ticket), 0o700)
        let template = PlaylistTemplate(media.index, form: form, segmentsPerKey: segmentsPerKey)
        let keys = (0..<template.keyCount).map { _ in Secret.random(count: 16) }
        for (number, key) in keys.enumerated() where encrypted {
            directory.write("\(Self.ticket)/\(number).key", key.withBytes { [UInt8](copying: $0) })
        }
        let keyURI: ((Int) -> String)? = encrypted ? { "\(Self.ticket)/\($0).key" } : nil
        directory.write("playlist.m3u8", try template.render(ticket: Self.ticket, keyURI: keyURI))
        let ending = form.fileExtension(for: media.index.format.codec)
        for number in 0..<media.index.segmentCount {
            let key = encrypted ? keys[number / (segmentsPerKey ?? media.index.segmentCount)] : nil
            directory.write("\(Self.ticket)/\(number).\(ending)", try media.segment(number, form, key: key))
        }
    }
}
