// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelIngest
import CarrelPackager
import CarrelTesting
import CarrelWorks
import Glibc
import Testing

/// A title in several files: a folder of chapters, or an archive of them.
struct `A folder of chapters` {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array("a front".utf8)
    private static let other: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array("a back".utf8)

    /// Chapters 1, 2 and 10, whose tones tell them apart, with a picture of the front and what else lies about.
    private func chapters(_ intake: Intake, _ folder: String, album: String? = "The Whole") async throws -> String {
        let path = intake.folder(folder)
        for (name, hertz, title) in [("10", 900, "Tenth"), ("1", 300, "First"), ("2", 600, nil)] {
            var tags = ["-c:a", "libmp3lame", "-b:a", "64k", "-metadata", "artist=Ann Author"]
            if let album { tags += ["-metadata", "album=\(album)"] }
            if let title { tags += ["-metadata", "title=\(title)"] }
            try await intake.tone("\(folder)/part \(name).mp3", 4, hertz: hertz, tags)
        }
        intake.directory.write("\(folder)/back.png", Self.other)
        intake.directory.write("\(folder)/Cover.png", Self.picture)
        intake.directory.write("\(folder)/notes.txt", "not sound")
        intake.directory.write("\(folder)/.DS_Store", "nor this")
        unsafe symlink("/etc/passwd", "\(path)/3.mp3")
        return path
    }

    private func check(_ title: IngestedTitle, _ intake: Intake) async throws {
        let metadata = title.metadata
        #expect(metadata.title == "The Whole", "the album is the work, a file's title its chapter")
        #expect(metadata.authors == ["Ann Author"])
        #expect(metadata.chapters.map(\.title) == ["First", "part 2", "Tenth"])
        #expect(try intake.bytes(of: try #require(title.cover).blob) == Self.picture)
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(samples.count == Int(title.index.totalSamples))
        for (chapter, hertz) in zip(metadata.chapters, [300.0, 600, 900]) {
            // a tenth of a second after its start and before its end it is the chapter's tone, and the tone before it is over
            let start = Int(chapter.startMS) * 441 / 10 + title.index.encoderDelay
            for place in [start + 4410, start + 4 * 44_100 - 13_230] {
                #expect(abs(frequency(samples, place..<place + 8820, rate: 44_100) - hertz) < 10, "\(chapter)")
            }
        }
        #expect(metadata.chapters.first?.startMS == 0)
        #expect(abs(title.durationMS - 12_000) < 150)
    }

    @Test func `is one title in the order that a person would count`() async throws {
        let intake = try Intake()
        let title = try intake.take(try await chapters(intake, "book"))
        try await check(title, intake)
        #expect(title.warnings == [])
        let samples = try await intake.decode(try intake.media(of: title))
        var parts: [Int16] = []
        for part in [1, 2, 10] { parts += try await intake.decode(intake.directory.file("book/part \(part).mp3")) }
        #expect(abs(parts.count - samples.count) <= 3 * 1152, "frames are joined, not encoded again")
    }

    @Test(arguments: ["", "wrapper/"])
    func `is the same title in an archive`(wrapper: String) async throws {
        let intake = try Intake()
        let folder = try await chapters(intake, "book")
        let archive = intake.directory.file("The Archive.zip")
        let from = wrapper.isEmpty ? folder : intake.directory.path
        let zip = [try requirePeer("zip"), "-qry", archive]
        try await checkProcess(zip + [wrapper.isEmpty ? "." : "book"], directory: from)
        try await check(try intake.take(archive), intake)
    }

    @Test func `is called what the folder is where no file names the album`() async throws {
        let intake = try Intake()
        let title = try intake.take(try await chapters(intake, "The Long Way", album: nil))
        #expect(title.metadata.title == "The Long Way")
    }

    @Test func `of discs counts the discs first`() async throws {
        let intake = try Intake()
        _ = intake.folder("book")
        for disc in ["Disc 2", "Disc 10", "Disc 1"] {
            _ = intake.folder("book/\(disc)")
            for track in ["2", "1"] { try await intake.tone("book/\(disc)/\(track).mp3", 1, ["-c:a", "libmp3lame"]) }
        }
        let title = try intake.take(intake.directory.file("book")) { $0.sampleSeconds = 0 }
        #expect(title.metadata.chapters.map(\.title) == ["1", "2", "1", "2", "1", "2"])
        let hash = try Ingest.sourceHash(intake.directory.file("book")) { _ in }
        unsafe rename(intake.directory.file("book/Disc 10"), intake.directory.file("book/Disc 0"))
        #expect(try Ingest.sourceHash(intake.directory.file("book")) { _ in } != hash, "another order is another title")
        #expect(title.sample == nil)
    }

    /// The playing order changed once, and with it the hash of folders: taken again, they became second titles.
    @Test func `has the hash that earlier versions stored, whatever its playing order`() throws {
        let intake = try Intake()
        _ = intake.folder("book")
        intake.directory.write("book/Chapter 1.mp3", "first")
        intake.directory.write("book/Chapter 1 - Extra.mp3", "extra")
        let stored = "c869b759781c8edbc2b9c740e077edb4ef5364c59bc8cb9314cc65af84843c0f"
        #expect(try Ingest.sourceHash(intake.directory.file("book")) { _ in } == Hex.decode(stored))
        #expect(try EditionIngest.sourceHash(intake.directory.file("book")) { _ in } == Hex.decode(stored))
    }

    @Test func `without sound is refused`() throws {
        let intake = try Intake()
        _ = intake.folder("book")
        intake.directory.write("book/notes.txt", "x")
        #expect(intake.refusal(of: intake.directory.file("book"))?.code == .notAudio)
        intake.directory.write("book/1.mp3", "")
        let refusal = intake.refusal(of: intake.directory.file("book"))
        #expect(refusal?.description == "1.mp3: is empty")
    }
}
