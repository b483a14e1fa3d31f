// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelPublication

@Suite("An audio file")
struct AudioTagTests {
    private let directory = TemporaryDirectory()

    private static let kinds = [
        ("flac", ["-c:a", "flac"]), ("ogg", ["-c:a", "libvorbis"]), ("opus", ["-c:a", "libopus"]), ("oga", ["-c:a", "flac"]),
        ("wav", ["-c:a", "pcm_s16le"]), ("mp3", ["-c:a", "libmp3lame"]),
        // without the frame that says how many there are
        ("mp3", ["-c:a", "libmp3lame", "-b:a", "64k", "-write_xing", "0"]),
    ]

    private func make(_ name: String, _ options: [String], seconds: Int, title: String) async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess(
            [ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i", "sine=d=\(seconds)", "-metadata", "title=\(title)"]
                + ["-metadata", "artist=A. Author"] + options + [directory.file(name)]
        )
    }

    private func open(_ name: String) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: directory.file(name)), allowUserInteraction: false)
    }

    @Test(arguments: kinds)
    func `says its title, its author and its length`(fileExtension: String, options: [String]) async throws {
        try await make("sound.\(fileExtension)", options, seconds: 3, title: "The Séa")
        let publication = try await open("sound.\(fileExtension)")
        #expect(publication.metadata.title == "The Séa")
        #expect(publication.metadata.authors.map(\.name) == ["A. Author"])
        #expect(abs(try #require(publication.readingOrder[0].duration) - 3) < 0.1)
        #expect(publication.metadata.duration == publication.readingOrder[0].duration)
    }

    @Test func `has its picture, which makes its tags long`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let noise = ["-f", "lavfi", "-i", "nullsrc=s=256x256,geq=random(1)*255:128:128", "-frames:v", "1"]
        try await checkProcess([ffmpeg, "-v", "error"] + noise + [directory.file("c.png")])
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=d=2", "-i", directory.file("c.png"), "-map", "0:a", "-map", "1:v",
            "-c:a", "flac", "-c:v", "copy", "-disposition:v", "attached_pic", "-metadata", "title=T", directory.file("a.flac"),
        ])
        let publication = try await open("a.flac")
        #expect(publication.metadata.title == "T")
        #expect(try await publication.cover()?.bytes == directory.read("c.png"))
    }

    @Test func `in an archive has a title and a length for each track`() async throws {
        let zip = try requirePeer("zip")
        let names = ["1.mp3", "2.flac", "3.ogg", "4.wav"]
        for (index, name) in names.enumerated() { try await make(name, [], seconds: index + 1, title: "Track \(index + 1)") }
        try await checkProcess([zip, "-q", "-0", "book.zab"] + names, directory: directory.path)
        let publication = try await open("book.zab")
        #expect(publication.readingOrder.map(\.title) == (1...4).map { "Track \($0)" })
        let durations = publication.readingOrder.compactMap(\.duration)
        #expect(durations.map { $0.rounded() } == [1, 2, 3, 4])
        #expect(publication.metadata.duration == durations.reduce(0, +))
    }

    @Test func `that is packed is not unpacked for its length`() async throws {
        try await make("2.ogg", [], seconds: 1, title: "T")
        // what can be packed, because of what follows the sound
        let bytes = try #require(directory.read("2.ogg")) + [UInt8](repeating: 0, count: 20_000)
        let archive = MadeArchive([
            MadeArchive.Entry("1.ogg", bytes, deflated: true), MadeArchive.Entry("2.ogg", bytes, deflated: true),
        ])
        directory.write("book.zab", archive.bytes)
        let publication = try await open("book.zab")
        #expect(publication.readingOrder.map(\.title) == ["T", "T"])
        #expect(publication.readingOrder[1].duration == nil)
        #expect(publication.metadata.duration == nil)
    }

    @Test func `is read a number of times that it shares with others`() async throws {
        let budget = ReadBudgetResource.Budget(3)
        let (one, two) = (
            ReadBudgetResource(BytesResource(Link(href: "1"), [1]), budget),
            ReadBudgetResource(BytesResource(Link(href: "2"), [2]), budget)
        )
        for _ in 0..<2 { _ = try await one.read(0..<1) }
        #expect(try await two.read(0..<1) == [2])
        await #expect(throws: ResourceError(.tooLarge, "")) { try await two.read(0..<1) }
    }

    @Test(arguments: kinds)
    func `that is damaged says less, and no more`(fileExtension: String, options: [String]) async throws {
        try await make("sound.\(fileExtension)", options, seconds: 1, title: "T")
        let bytes = try #require(directory.read("sound.\(fileExtension)"))
        let link = Link(href: "a")
        for count in stride(from: 0, to: min(bytes.count, 4096), by: 61) {
            _ = try await AudioTagsReader.describe(BytesResource(link, Array(bytes.prefix(count))))
        }
        var numbers = SplitMix(seed: 7)
        for _ in 0..<150 {
            var damaged = bytes
            for _ in 0..<6 {
                let place = Int.random(in: 0..<min(bytes.count, 600), using: &numbers)
                damaged[place] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &numbers) ?? 0
            }
            let found = try await AudioTagsReader.outline(BytesResource(link, damaged))
            #expect(found.duration.map { $0 >= 0 && $0.isFinite } != false)
        }
    }
}
