// SPDX-License-Identifier: Apache-2.0

import CarrelIngest
import CarrelTesting
import CarrelWorks
import Testing

/// An audiobook's title and credits, from its file.
struct `Tags of an audiobook` {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 7, count: 100)

    static let forms: [(name: String, options: [String])] = [
        ("a.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "3"]), ("b.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "4"]),
        ("a.m4b", ["-c:a", "aac", "-f", "ipod"]), ("a.opus", ["-c:a", "libopus"]),
        ("a.mka", ["-c:a", "flac"]),
    ]

    private func tagged(_ intake: Intake, _ name: String, _ options: [String], _ tags: [(String, String)]) async throws -> String
    {
        let source = intake.directory.write(
            "tags.txt",
            ";FFMETADATA1\n" + tags.map { "\($0)=\($1)\n" }.joined()
                + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Tvø\n"
        )
        let path = intake.directory.file(name)
        let inputs = ["-f", "lavfi", "-i", "sine=duration=2", "-i", source, "-map", "0:a", "-map_metadata", "1"]
        try await checkProcess(
            [try requirePeer("ffmpeg"), "-nostdin", "-v", "error"] + inputs + ["-map_chapters", "1"] + options
                + ["-metadata:s:a:0", "language=dan", path]
        )
        return path
    }

    @Test(arguments: forms) func `are read from every kind of file`(name: String, options: [String]) async throws {
        let intake = try Intake()
        let path = try await tagged(
            intake,
            name,
            options,
            [
                ("title", "En bog på dansk"), ("artist", "Ann Author"), ("album_artist", "Ann Author"), ("album", "The Series"),
                ("composer", "Nils Narrator"), ("date", "2021"), ("comment", "About it."),
            ]
        )
        let metadata = try intake.take(path) { $0.sampleSeconds = 0 }.metadata
        #expect(metadata.title == "En bog på dansk")
        #expect(metadata.authors == ["Ann Author"])
        #expect(metadata.narrators == ["Nils Narrator"])
        #expect(metadata.published == "2021")
        #expect(metadata.description == "About it.")
        #expect(metadata.chapters.map(\.title) == ["One", "Tvø"])
        #expect(metadata.chapters.map(\.startMS) == [0, 1000])
        if name.hasSuffix("m4b") { #expect(metadata.language == "dan") }
    }

    @Test func `give way to what the operator says`() async throws {
        let intake = try Intake()
        let path = try await tagged(intake, "a.mp3", Self.forms[0].options, [("title", "Wrong"), ("artist", "Ann Author")])
        let cover = intake.directory.write("cover.png", Self.picture)
        let title = try intake.take(path) {
            $0.overrides.title = "Right"
            $0.overrides.narrators = ["A", "B"]
            $0.overrides.coverPath = cover
        }
        #expect(title.metadata.title == "Right")
        #expect(title.metadata.authors == ["Ann Author"], "what is not overridden stays")
        #expect(title.metadata.narrators == ["A", "B"])
        #expect(try intake.bytes(of: try #require(title.cover).blob) == Self.picture)
        #expect(title.cover?.mediaType == "image/png")
    }

    @Test func `that are missing leave the file's name`() async throws {
        let intake = try Intake()
        let path = try await intake.tone("The Long.Way.mp3", 1, ["-c:a", "libmp3lame", "-id3v2_version", "0"])
        #expect(try intake.take(path).metadata.title == "The Long.Way")
    }

    @Test func `with a picture that is none are taken without it, but no cover is taken that the operator names`() async throws {
        let intake = try Intake()
        let path = try await intake.tone("a.mp3", 1, ["-c:a", "libmp3lame"])
        let refusal = intake.refusal(of: path) { $0.overrides.coverPath = path }
        #expect(refusal?.reason == "is not a JPEG, PNG, GIF or WebP picture of at most 16 MiB")
        #expect(try intake.take(path).cover == nil)
    }
}
