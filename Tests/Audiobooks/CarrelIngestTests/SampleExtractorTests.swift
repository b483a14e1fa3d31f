// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelIngest
import CarrelPackager
import CarrelTesting
import Testing

/// The free sample of a title: an MP3 file of at most a minute.
struct `A sample` {
    private func book(_ intake: Intake, _ form: Form) async throws -> String {
        intake.directory.write(form.name, try await form.book.value)
    }

    /// A kind of file, and the book in it: made once, for all tests.
    struct Form: Sendable {
        let name: String
        let book: Task<[UInt8], any Error>

        init(_ name: String, _ options: [String]) {
            self.name = name
            book = Task { try await make(name, options) }
        }
    }

    static let mp3 = Form("a.mp3", ["-c:a", "libmp3lame", "-b:a", "64k"])
    static let m4b = Form("a.m4b", ["-c:a", "aac", "-f", "ipod"])

    /// Two minutes: a short opening, then chapters of other tones.
    private static func make(_ name: String, _ options: [String]) async throws -> [UInt8] {
        let directory = TemporaryDirectory()
        let chapters = [(0, 40), (40, 80), (80, 120)].map { start, end in
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\(start * 1000)\nEND=\(end * 1000)\ntitle=from \(start)\n"
        }
        let metadata = directory.write("chapters.txt", ";FFMETADATA1\n" + chapters.joined())
        // 300 Hz, 600 Hz and 900 Hz, 40 seconds each
        let source = "aevalsrc=0.5*sin(2*PI*t*300*(1+gte(t\\,40)+gte(t\\,80))):s=44100:d=120"
        let path = directory.file(name)
        let inputs = ["-f", "lavfi", "-i", source, "-i", metadata, "-map_metadata", "1", "-map_chapters", "1", "-map", "0:a"]
        try await checkProcess([try requirePeer("ffmpeg"), "-nostdin", "-v", "error"] + inputs + options + [path])
        return directory.read(name) ?? []
    }

    @Test(arguments: [mp3, m4b]) func `creates a minute of MP3 from the first chapter after the opening`(form: Form) async throws
    {
        let intake = try Intake()
        let title = try intake.take(try await book(intake, form))
        #expect(title.warnings == [])
        let sample = try #require(title.sample)
        #expect(abs(sample.durationMS - 60_000) < 60)
        let path = intake.directory.write("sample.mp3", try intake.bytes(of: sample.blob))
        let entries = ["-show_entries", "stream=codec_name", "-of", "csv=p=0"]
        #expect(try await checkProcess(["ffprobe", "-v", "error", "-f", "mp3"] + entries + [path]) == "mp3\n")
        // A sample cut out of MP3 lacks what its first frame borrows from the one before it.
        let result = try await runProcess(["ffmpeg", "-v", "fatal", "-i", path, "-f", "s16le", "-ac", "1", "-"])
        let samples = stride(from: 0, to: result.output.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(result.output[$0]) | UInt16(result.output[$0 + 1]) << 8)
        }
        #expect(abs(Double(samples.count) / 44.1 - Double(sample.durationMS)) < 80, "it lasts as long as it is said to")
        for (second, hertz) in [(0.2, 600.0), (38, 600), (41, 900), (59, 900)] {
            let start = Int(second * 44_100)
            let heard = frequency(samples, start..<start + 22_050, rate: 44_100)
            #expect(abs(heard - hertz) < 10, "at \(second) s")
        }
    }

    @Test func `out of MP3 is the title's own frames`() async throws {
        let intake = try Intake()
        let title = try intake.take(try await book(intake, Self.mp3))
        let media = try intake.bytes(of: title.media)
        let sample = try intake.bytes(of: try #require(title.sample).blob)
        // 64 kbit/s: a second is 8,000 bytes
        let start = 40 * 8000 + title.index.encoderDelay * 8000 / 44_100
        let places = (start - 500...start + 500).filter { $0 < media.count && media[$0...].starts(with: sample) }
        #expect(places.count == 1)
    }

    @Test(arguments: [(12.5, 12_500), (0, 0), (600, 120_000)])
    func `is as long as is asked for, and no longer than the title`(seconds: Double, milliseconds: Int) async throws {
        let intake = try Intake()
        let title = try intake.take(try await book(intake, Self.mp3)) { $0.sampleSeconds = seconds }
        #expect((title.sample == nil) == (seconds == 0))
        // asked for more than there is, it begins at the beginning
        if let sample = title.sample { #expect(abs(Int(sample.durationMS) - milliseconds) < 80) }
    }

    @Test func `of a title without chapters is its beginning`() async throws {
        let intake = try Intake()
        let title = try intake.take(try await intake.tone("a.mp3", 90, ["-c:a", "libmp3lame", "-b:a", "64k"]))
        let sample = try intake.bytes(of: try #require(title.sample).blob)
        let media = try intake.bytes(of: title.media)
        #expect(media.prefix(2000).indices.contains { media[$0...].starts(with: sample) })
    }
}
