// SPDX-License-Identifier: Apache-2.0

import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelPackager
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWorks
import Glibc
import Testing

/// An ingest of audio into the catalog: duplicates, and the remains of a refusal.
@Suite(.onBothDatabases)
struct `An audio ingest` {
    private func ingest(_ test: TestService, _ path: String, _ title: String? = nil) async throws -> IngestPipeline.Outcome<Title>
    {
        var options = IngestOptions()
        options.overrides.title = title
        return try await test.service.ingesting.ingest(path, options)
    }

    @Test func `knows contents that it has, whatever they are called`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let first = try await ingest(test, test.directory.write("a.mp3", SilentMP3.frames(300)))
        #expect(first.created)
        let blobs = try test.blobCount()
        let again = try await ingest(test, test.directory.write("b.mp3", SilentMP3.frames(300)))
        #expect(!again.created)
        #expect(again.title.id == first.title.id && again.title.metadata.title == "a")
        let renamed = try await ingest(test, test.directory.file("b.mp3"), "Said so")
        #expect(!renamed.created && renamed.title.id == first.title.id && renamed.title.metadata.title == "Said so")
        #expect(try test.blobCount() == blobs)
        #expect(try await test.service.titles.list().count == 2)
        let other = try await ingest(test, test.directory.write("c.mp3", SilentMP3.frames(301)))
        #expect(other.created)
    }

    @Test func `knows a folder that it has`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        for folder in ["one", "two"] {
            unsafe mkdir(test.directory.file(folder), 0o700)
            test.directory.write("\(folder)/1.mp3", SilentMP3.frames(100))
            test.directory.write("\(folder)/2.mp3", SilentMP3.frames(200))
        }
        let first = try await ingest(test, test.directory.file("one"))
        #expect(first.created && first.title.metadata.title == "one")
        #expect(try await ingest(test, test.directory.file("two")).title.id == first.title.id)
        test.directory.write("two/1.mp3", SilentMP3.frames(101))
        #expect(try await ingest(test, test.directory.file("two")).created)
    }

    /// Two concurrent ingests of the same content: one title, and its blobs still exist.
    @Test func `creates one playable title from two concurrent ingests of one source`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let paths = ["a", "b", "c"].map { test.directory.write("\($0).mp3", SilentMP3.frames(1200)) }
        let titles = try await withThrowingTaskGroup(of: IngestPipeline.Outcome<Title>.self) { group in
            for path in paths { group.addTask { try await ingest(test, path) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(titles.map(\.title.id)).count == 1)
        #expect(titles.count(where: \.created) == 1)
        let order = try await test.order(.init(account: "alice", titleID: titles[0].title.id))
        for segment in try await test.playlist(order).segments { #expect(try await test.send(.get, segment).status == 200) }
    }

    static let hostile: [(String, [StoredZip.Entry], String)] = [
        ("traversal", [.init("1.mp3", bytes: SilentMP3.frames(9)), .init("../evil.mp3", "x")], "leaves its folder"),
        ("absolute", [.init("/etc/evil.mp3", bytes: SilentMP3.frames(9))], "is absolute"),
        ("locked", [.init("1.mp3", bytes: SilentMP3.frames(9)), .locked("2.mp3")], "needs a password"),
        ("no sound", [.init("notes.txt", "x")], "holds no sound"),
        ("a link", [.link("1.mp3", to: "/etc/passwd")], "holds no sound"),
        ("a broken part", [.init("1.mp3", bytes: SilentMP3.frames(900)), .init("2.mp3", "no sound")], "2.mp3"),
    ]

    @Test(arguments: hostile)
    func `refuses a hostile or broken archive and leaves no blobs`(
        what: String,
        entries: [StoredZip.Entry],
        why: String
    ) async throws {
        let test = try await TestService(with: .streaming)
        try await refuse(test, test.directory.write("hostile.zip", StoredZip.write(entries)), .archive, .notAudio, why)
    }

    @Test func `omits entries of an archive that lead elsewhere or are not audio`() async throws {
        let test = try await TestService(with: .streaming)
        let zip = StoredZip.write([
            .init("../notes.txt", "x"), .init("1.mp3", bytes: SilentMP3.frames(100)), .init("__MACOSX/../1.mp3", "x"),
            .init("../cover.jpg", "x"),
        ])
        let made = try await ingest(test, test.directory.write("book.zip", zip))
        #expect(made.created && made.warnings.count == 3)
        #expect(made.warnings.first?.hasSuffix("name \"../notes.txt\" of entry 0 leaves its folder; it is left out") == true)
    }

    @Test func `refuses an archive bomb and leaves no blobs`() async throws {
        let test = try await TestService(with: .streaming)
        let zeros = test.directory.write("1.mp3", [UInt8](repeating: 0, count: 64 << 20))
        let path = test.directory.file("bomb.zip")
        try await checkProcess([try requirePeer("zip"), "-qj9", path, zeros])
        unsafe unlink(zeros)
        try await refuse(test, path, .archive, .archive, "times its packed size")
    }

    @Test func `refuses an archive that unpacks beyond the limit and leaves no blobs`() async throws {
        let test = try await TestService(with: .streaming)
        let zip = StoredZip.write([.init("1.mp3", bytes: SilentMP3.frames(500)), .init("2.mp3", bytes: SilentMP3.frames(500))])
        try await refuse(test, test.directory.write("large.zip", zip), .archive, .archive, "150000") {
            $0.archiveLimit = 150_000
        }
    }

    /// The sound itself is in the store already when the picture turns out to be none.
    @Test func `refuses an invalid cover and leaves no blobs`() async throws {
        let test = try await TestService(with: .streaming)
        let path = test.directory.write("a.mp3", SilentMP3.frames(300))
        try await refuse(test, path, .malformed, .malformed, "is not a JPEG, PNG, GIF or WebP picture") {
            $0.overrides.coverPath = path
        }
    }

    /// Blobs of a valid part are removed together with the refused one.
    @Test func `refuses a folder with a FairPlay or truncated part and leaves no blobs`() async throws {
        let test = try await TestService(with: .streaming)
        let folder = test.directory.file("book")
        unsafe mkdir(folder, 0o700)
        let ffmpeg = [
            try requirePeer("ffmpeg"), "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "aac",
        ]
        try await checkProcess(ffmpeg + ["-movflags", "+faststart", "-f", "ipod", "\(folder)/1.m4b"])
        let whole = test.directory.read("book/1.m4b") ?? []
        test.directory.write("book/2.m4b", Array(whole.dropLast(9000)))
        try await refuse(test, folder, .truncated, .truncated, "2.m4b")
        test.directory.write("book/2.m4b", MP4Patch.renamed(whole, to: "drms"))
        try await refuse(test, folder, .protected, .protected, "2.m4b: is protected by Apple FairPlay")
    }

    private func refuse(
        _ test: TestService,
        _ path: String,
        _ code: IngestError.Code,
        _ other: IngestError.Code,
        _ why: String,
        _ configure: (inout IngestOptions) -> Void = { _ in }
    ) async throws {
        let before = (blobs: try test.blobCount(), titles: try await test.service.titles.list())
        var options = IngestOptions()
        configure(&options)
        let refusal = await #expect(throws: IngestError.self) { try await test.service.ingesting.ingest(path, options) }
        #expect(refusal.map { [code, other].contains($0.code) } == true, "\(String(describing: refusal))")
        #expect(refusal?.description.contains(why) == true, "\(String(describing: refusal))")
        #expect(try test.blobCount() == before.blobs, "no blob stays")
        #expect(try await checkProcess(["find", test.directory.path, "-path", "*/scratch/*"]) == "", "nothing stays in scratch")
        #expect(try await test.service.titles.list() == before.titles)
    }
}
