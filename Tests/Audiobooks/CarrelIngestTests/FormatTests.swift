// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelIngest
import CarrelPackager
import CarrelTesting
import CarrelWorks
import Testing

/// Formats that are kept unchanged, and formats that become AAC because they cannot be joined to one stream.
struct `Formats` {
    private static let lc = AudioCodec.aac(.lc)

    @Test func `of parts that differ become one stream of AAC`() async throws {
        let intake = try Intake()
        _ = intake.folder("book")
        try await intake.tone("book/1.mp3", 3, hertz: 300, rate: 22_050, ["-c:a", "libmp3lame"])
        try await intake.tone("book/2.m4a", 3, hertz: 600, rate: 44_100, ["-c:a", "aac", "-ac", "2"])
        try await intake.tone("book/3.flac", 3, hertz: 900, rate: 32_000)
        let title = try intake.take(intake.directory.file("book"))
        #expect(title.index.format == AudioFormat(codec: Self.lc, sampleRate: 44_100, channels: 2), "the best of them")
        #expect(title.metadata.chapters.map(\.title) == ["1", "2", "3"])
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(samples.count == Int(title.index.totalSamples))
        for (chapter, hertz) in zip(title.metadata.chapters, [300.0, 600, 900]) {
            let start = Int(chapter.startMS) * 441 / 10 + title.index.encoderDelay + 22_050
            #expect(abs(frequency(samples, start..<start + 44_100, rate: 44_100) - hertz) < 10, "\(chapter)")
        }
        #expect(abs(title.durationMS - 9000) < 400)
    }

    @Test func `that change within an MP3 file are made one`() async throws {
        let intake = try Intake()
        let plain = ["-c:a", "libmp3lame", "-b:a", "64k", "-write_xing", "0", "-id3v2_version", "0"]
        try await intake.tone("a.mp3", 4, hertz: 300, rate: 44_100, plain)
        try await intake.tone("b.mp3", 4, hertz: 600, rate: 22_050, plain)
        let joined = (intake.directory.read("a.mp3") ?? []) + (intake.directory.read("b.mp3") ?? [])
        let title = try intake.take(intake.directory.write("joined.mp3", joined))
        #expect(title.index.format == AudioFormat(codec: Self.lc, sampleRate: 44_100, channels: 1))
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(abs(frequency(samples, 44_100..<88_200, rate: 44_100) - 300) < 10)
        #expect(abs(frequency(samples, 264_600..<308_700, rate: 44_100) - 600) < 10, "the part behind the change is there")
    }

    /// Apple Lossless lies in the same file as AAC does, but no ADTS frame can carry it.
    @Test func `in MP4 that ADTS cannot carry are transcoded`() async throws {
        let intake = try Intake()
        let path = try await intake.tone(
            "book.m4a",
            3,
            hertz: 500,
            rate: 48_000,
            ["-c:a", "alac", "-metadata", "title=Lossless"]
        )
        let title = try intake.take(path)
        #expect(title.index.format == AudioFormat(codec: Self.lc, sampleRate: 48_000, channels: 1))
        #expect(title.metadata.title == "Lossless")
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(abs(frequency(samples, 48_000..<96_000, rate: 48_000) - 500) < 10)
        #expect(abs(title.durationMS - 3000) < 100)
    }

    /// AAC whose channels a program config element lists, which ADTS has no room for, and of a kind that ffmpeg does not know.
    @Test func `of AAC that ADTS cannot say are transcoded where ffmpeg knows them, and else refused by name`() async throws {
        let intake = try Intake()
        let path = try await intake.tone("plain.m4a", 3, hertz: 500, ["-ac", "2", "-c:a", "aac"])
        let plain = intake.directory.read("plain.m4a") ?? []
        // AAC-LC, 44,100 Hz, channel configuration 0: one pair in front
        let listed: [UInt8] = [0x12, 0x00, 0x05, 0x04, 0x00, 0x00, 0x20, 0x00]
        let unknown: [UInt8] = [0xb2, 0x10]  // object type 22
        let title = try intake.take(intake.directory.write("listed.m4a", MP4Patch.configured(plain, listed)))
        #expect(title.index.format == AudioFormat(codec: Self.lc, sampleRate: 44_100, channels: 2))
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(abs(frequency(samples, 44_100..<88_200, rate: 44_100) - 500) < 10)
        let source = try await intake.decode(path, ["-ignore_editlist", "1"])
        #expect(source.count != samples.count || source != samples, "it was encoded again")

        let refusal = intake.refusal(of: intake.directory.write("unknown.m4a", MP4Patch.configured(plain, unknown)))
        #expect(refusal?.code == .notAudio, "\(String(describing: refusal))")
        #expect(refusal?.path == intake.directory.file("unknown.m4a"))
    }

    @Test func `that are on no list are refused with those that are`() async throws {
        let intake = try Intake()
        let sound = try await intake.tone("sound.ts", 3, ["-c:a", "aac", "-f", "mpegts"])
        let text = intake.directory.write("text.txt", "once upon a time there was no sound at all in this file")
        let noise = intake.directory.write("noise", (0..<3000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) })
        for path in [sound, text, noise] {
            let refusal = intake.refusal(of: path)
            #expect(refusal?.code == .notAudio)
            let expected = "is damaged, or not in one of the formats that can be ingested (MP3, M4A and M4B, FLAC, WAV,"
            #expect(refusal?.reason.hasPrefix(expected) == true, "\(refusal?.reason ?? "")")
            #expect(refusal?.reason.contains("invalid argument") == false)
        }
    }

    @Test func `are listed in the README`() async throws {
        let text = try await checkProcess(["cat", "\(Repository.path)/README.md"]).split { " \n".contains($0) }.joined(
            separator: " "
        )
        #expect(text.contains(AcceptedAudioFormat.names))
    }

    @Test func `that Carrel reads are never encoded again`() async throws {
        let intake = try Intake()
        let mp3 = try await intake.tone("a.mp3", 12, ["-c:a", "libmp3lame", "-b:a", "64k"])
        let m4b = try await intake.tone("a.m4b", 12, ["-c:a", "aac", "-f", "ipod"])
        for (path, skipped) in [(mp3, [String]()), (m4b, ["-ignore_editlist", "1"])] {
            let title = try intake.take(path)
            let taken = try await intake.decode(try intake.media(of: title))
            #expect(taken == (try await intake.decode(path, skipped)), "\(path)")
            #expect(abs(title.durationMS - 12_000) < 60, "\(path) \(title.durationMS)")
        }
    }
}
