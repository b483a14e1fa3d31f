// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS
@testable import CarrelPackager
import CarrelTesting
import Testing

/// Our streams, decoded by ffmpeg, an independent program.
struct `Decoding by ffmpeg` {
    /// Samples of all channels, 16 bits each, and what was complained about.
    func decode(_ input: [String], with ffmpeg: String) async throws -> (samples: [UInt8], complaints: String) {
        let result = try await runProcess([ffmpeg, "-nostdin", "-v", "warning"] + input + ["-f", "s16le", "-"])
        try #require(result.status.isSuccess, "\(result.errorText)")
        return (result.output, result.errorText)
    }

    @Test(arguments: SpokenTitle.all)
    func `hears the same samples in every form as in the media itself`(title: SpokenTitle) async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let media = try await title.encode(seconds: 33, with: ffmpeg)
        #expect(media.index.segmentCount == 4)
        let plain = TemporaryDirectory()
        plain.write("media", media.bytes)
        let demuxer = title.isMP3 ? "mp3" : "aac"
        let expected = try await decode(["-f", demuxer, "-i", plain.file("media")], with: ffmpeg).samples
        #expect(expected.count == Int(media.index.totalSamples) * title.channels * 2)
        for form in SegmentForm.allCases {
            for (encrypted, segmentsPerKey) in [(false, nil), (true, nil), (true, 1)] as [(Bool, Int?)] {
                let published = try PublishedTitle(media, form: form, segmentsPerKey: segmentsPerKey, encrypted: encrypted)
                let heard = try await decode(["-allowed_extensions", "ALL", "-i", published.playlist], with: ffmpeg)
                #expect(heard.samples == expected, "\(form), encrypted: \(encrypted)")
                #expect(heard.complaints == "", "\(form), encrypted: \(encrypted)")
            }
        }
    }

    @Test(arguments: SpokenTitle.all)
    func `probes without a complaint, each segment by itself`(title: SpokenTitle) async throws {
        let ffprobe = try requirePeer("ffprobe")
        let media = try await title.encode(seconds: 24, with: try requirePeer("ffmpeg"))
        for form in SegmentForm.allCases {
            let published = try PublishedTitle(media, form: form, encrypted: false)
            for number in 0..<media.index.segmentCount {
                let file = published.segment(number, title.codec, form)
                let result = try await runProcess([ffprobe, "-v", "error", "-count_frames", "-show_entries", "stream", file])
                #expect(result.status.isSuccess)
                let segment = media.index.segment(number)
                let fields = Set(result.text.split(separator: "\n").map(String.init))
                #expect(fields.contains("codec_name=\(title.isMP3 ? "mp3" : "aac")"))
                #expect(fields.contains("sample_rate=\(title.sampleRate)"))
                #expect(fields.contains("channels=\(title.channels)"))
                #expect(fields.contains("nb_read_frames=\(segment.frameCount)"))
                if form == .transportStream {
                    let ticks = (segment.startSample * 180_000 / Int64(title.sampleRate) + 1) / 2 + 45_000
                    #expect(fields.contains("start_pts=\(ticks)"))
                }
                // MP3 frames may refer to bytes of frames before them, which another segment has (the bit reservoir)
                let lines = result.errorText.split(separator: "\n").filter { !title.isMP3 || !$0.contains("backstep") }
                #expect(lines == [], "\(form) \(number)")
            }
        }
    }

    @Test(arguments: SegmentForm.allCases)
    func `hears every sample across the wrap of time stamps after 26 hours`(form: SegmentForm) async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let title = SpokenTitle(codec: .mp3(.mpeg1), sampleRate: 48000, channels: 1, encoder: ["libmp3lame", "-b:a", "64k"])
        // 417 frames of 192 bytes, again and again for 27 hours
        let loop = Array(try await title.encode(seconds: 12, with: ffmpeg).bytes.prefix(417 * 192))
        let short = try Media(title.format, stream: loop)
        let packets = short.index.segment(0).packetCount
        let count = 27 * 360
        let index = SegmentIndex(
            format: short.index.format,
            framesPerSegment: 417,
            frameCount: Int64(417 * count),
            encoderDelay: 0,
            padding: 0,
            marks: (0...count).map { number -> UInt64 in
                UInt64(number * loop.count) << 24 | UInt64(number * packets) & SegmentIndex.packetMask
            }
        )
        let directory = TemporaryDirectory()
        directory.write("media", loop + loop + loop + loop)
        var playlist = MediaPlaylist(targetDuration: 10)
        playlist.version = 3
        playlist.isEnded = true
        let wrapSample = ((1 << 33) - 45_000) * 48 / 90
        let wrap = wrapSample / (417 * 1152)  // the segment in which it happens
        playlist.mediaSequence = UInt64(wrap - 1)
        for number in wrap - 1...wrap + 2 {
            let stream = try SegmentStream(index: index, number: number, form: form, key: nil, input: LoopInput(loop))
            let name = "\(number).\(form.fileExtension(for: title.codec))"
            directory.write(name, try readAll(stream))
            playlist.segments.append(MediaSegment(uri: name, duration: .microseconds(10_008_000)))
        }
        directory.write("playlist.m3u8", try playlist.write())
        let expected = try await decode(["-f", "mp3", "-i", directory.file("media")], with: ffmpeg).samples
        let heard = try await decode(["-i", directory.file("playlist.m3u8")], with: ffmpeg)
        #expect(expected.count == 4 * 417 * 1152 * 2)
        #expect(heard.samples == expected)
        #expect(heard.complaints == "")
    }
}
