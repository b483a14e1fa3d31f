// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("A hostile archive")
struct HostileArchiveTests {
    private let directory = TemporaryDirectory()
    /// MiB that opening anything may take, in a process with nothing else in it.
    private let limit = 64.0

    private func open(_ archive: MadeArchive, reading: Bool = false) async throws -> OpenedElsewhere {
        let opened = try await OpenedElsewhere(
            directory.write("hostile.epub", archive.bytes),
            reading: reading,
            seconds: OpenedElsewhere.hostileSeconds
        )
        #expect(opened.peak < limit, "MiB")
        return opened
    }

    private func entry(_ archive: MadeArchive, _ name: String) throws -> Int {
        try #require(archive.entries.firstIndex { $0.name == Array(name.utf8) })
    }

    @Test(arguments: ["EPUB/c.xhtml", "EPUB/package.opf", "META-INF/container.xml", "mimetype", "EPUB/nav.xhtml"])
    func `with a bomb that claims to be small gives no more than it claims, and is refused where it is needed`(
        name: String
    ) async throws {
        var archive = MadeArchive.epub(["EPUB/bomb": [UInt8](repeating: 0x20, count: 100 << 20)])
        let bomb = archive.entries.remove(at: try entry(archive, "EPUB/bomb"))
        let place = try entry(archive, name)
        archive.entries[place].packed = bomb.packed
        archive.entries[place].method = 8
        archive.entries[place].size = 100
        let opened = try await open(archive, reading: true)
        switch name {
        case "EPUB/package.opf", "META-INF/container.xml":
            #expect(opened.outcome == "opening.parsing-failed")
            #expect(opened.message.contains(name) && opened.message.contains("damaged"))
        case "EPUB/nav.xhtml":
            #expect(opened.outcome == "open")
            #expect(opened.warnings.contains { $0.contains(name) })
        case "EPUB/c.xhtml":
            #expect(opened.outcome == "open")
            #expect(opened.failures == [name: "resource.malformed"])
        default: #expect(opened.outcome == "open")  // the container document says that it is an EPUB
        }
    }

    @Test(arguments: ["EPUB/c.xhtml", "EPUB/package.opf", "META-INF/container.xml", "META-INF/encryption.xml"])
    func `with a bomb that says how large it is is refused before it fills the memory`(name: String) async throws {
        let opened = try await open(.epub([name: [UInt8](repeating: 0x20, count: 100 << 20)]), reading: true)
        switch name {
        case "EPUB/c.xhtml":
            #expect(opened.outcome == "open")
            #expect(opened.failures == [name: "resource.too-large"])
        case "META-INF/encryption.xml":
            #expect(opened.outcome == "open")
            #expect(opened.warnings.contains { $0.contains(name) })
        default:
            #expect(opened.outcome == "opening.parsing-failed")
            #expect(opened.message.contains(name))
        }
    }

    @Test func `in archives in archives is opened without being unpacked`() async throws {
        var inner = MadeArchive([MadeArchive.Entry("0", [UInt8](repeating: 0, count: 60 << 20), deflated: true)])
        for level in 0..<5 {
            let bytes = inner.bytes
            inner = MadeArchive((0..<16).map { MadeArchive.Entry("\(level)-\($0).zip", bytes, deflated: true) })
        }
        let package = MadeArchive.package.replacing("c.xhtml", with: "nested.zip")
        let opened = try await open(
            .epub(["EPUB/nested.zip": inner.bytes, "EPUB/package.opf": Array(package.utf8)]),
            reading: true
        )
        #expect(opened.outcome == "open")
        #expect(opened.failures.isEmpty)
    }

    @Test func `whose entries share their bytes is refused`() async throws {
        let content = [UInt8](repeating: 0x20, count: 1 << 20)
        var all = MadeArchive.epub(["EPUB/a": content])
        let first = all.entries[try entry(all, "EPUB/a")]
        // every further entry is the first one again
        for number in 0..<1000 {
            var entry = first
            entry.name = Array("EPUB/\(number)".utf8)
            entry.localName = first.name
            entry.packed = []
            entry.packedSize = first.packed.count
            entry.offset = 0
            all.entries.append(entry)
        }
        let opened = try await open(all)
        #expect(opened.outcome == "opening.parsing-failed")
        #expect(opened.message.contains("shares bytes"))
        // one that reaches over the next, and one that reaches into the directory
        var over = MadeArchive.epub()
        over.entries[2].packedSize = over.entries[2].packed.count + 10
        #expect(try await open(over).message.contains("shares bytes"))
        var last = MadeArchive.epub()
        last.entries[last.entries.count - 1].packedSize = 2000
        #expect(try await open(last).message.contains("directory"))
    }

    @Test func `whose directory lies about itself is refused`() async throws {
        func outcome(_ change: (inout MadeArchive) -> Void) async throws -> String {
            var archive = MadeArchive.epub()
            change(&archive)
            return try await open(archive).outcome
        }
        let refused = "opening.parsing-failed"
        for count in [0, 1, 4, 6, 65_534] { #expect(try await outcome { $0.count = count } == refused, "\(count) entries") }
        for size in [0, 45, 0x7fff_ffff, 0xffff_fffe] {
            #expect(try await outcome { $0.directorySize = size } == refused, "\(size) bytes of directory")
        }
        for start in [0, 1, 0x7fff_ffff, 0xffff_fffe] {
            #expect(try await outcome { $0.directoryStart = start } == refused, "directory at \(start)")
        }
        // a comment that is the end of another archive: the last that fits the file counts
        let other = MadeArchive([MadeArchive.Entry("x", "x")]).bytes
        _ = try await outcome { $0.comment = Array(other.suffix(60)) }
        #expect(try await outcome { $0.comment = [UInt8](repeating: 0x50, count: 65_535) } == "open")
    }

    @Test func `whose entries are not where the directory says gives nothing of them`() async throws {
        for change in [
            { (entry: inout MadeArchive.Entry) in entry.localName = Array("EPUB/d.xhtml".utf8) },
            { (entry: inout MadeArchive.Entry) in entry.localName = Array("EPUB/c.xhtml.xhtml".utf8) },
            { (entry: inout MadeArchive.Entry) in entry.method = 12 },
            { (entry: inout MadeArchive.Entry) in entry.size += 1 },
            { (entry: inout MadeArchive.Entry) in entry.size -= 1 },
            { (entry: inout MadeArchive.Entry) in entry.method = 8 },
        ] {
            var archive = MadeArchive.epub(deflated: false)
            change(&archive.entries[try entry(archive, "EPUB/c.xhtml")])
            let opened = try await open(archive, reading: true)
            #expect(opened.outcome == "open")
            #expect(opened.failures == ["EPUB/c.xhtml": "resource.malformed"])
        }
    }

    @Test func `with names that lead out of it has no such entries, and says so`() async throws {
        let names = [
            "../evil", "EPUB/../../evil", "/etc/passwd", "..", "EPUB\\..\\..\\evil", "..\\evil", "\\\\host\\evil", "a\u{0}b",
        ]
        var archive = MadeArchive.epub()
        for name in names { archive.add(name, "evil") }
        archive.add("EPUB/%2e%2e/%2e%2e/escaped", "its own name")
        let path = directory.write("names.epub", archive.bytes)
        let opened = try await OpenedElsewhere(path, seconds: OpenedElsewhere.hostileSeconds)
        #expect(opened.outcome == "open")
        #expect(opened.warnings.filter { $0.contains("leads out") }.count == names.count)
        let fetcher = try await ArchiveFetcher(try FileResource(Link(href: "names.epub"), path: path))
        let paths = try await fetcher.links().compactMap(\.path).map(\.string)
        #expect(paths.count == 6)
        for href in ["../evil", "%2e%2e/evil", "evil", "/etc/passwd", "..%2fevil", "..%5cevil", "%00"] {
            await #expect(throws: ResourceError(.notFound, ""), "\(href)") { try await fetcher.get(href).read(0..<1) }
        }
    }

    @Test func `with more entries than are read is refused`() async throws {
        var archive = MadeArchive.epub()
        archive.count = 0xffff
        archive.comment = []
        // a directory for large archives that claims 2^40 entries (§4.3.14)
        let large: [UInt8] = [0x50, 0x4b, 6, 6, 44, 0, 0, 0, 0, 0, 0, 0, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let counts: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
        var bytes = archive.bytes
        let end = bytes.suffix(22)
        bytes.removeLast(22)
        let start = UInt64(bytes.count)
        bytes += large + counts + [UInt8](repeating: 0xff, count: 7) + [0] + [UInt8](repeating: 0, count: 8)
        bytes += [0x50, 0x4b, 6, 7, 0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: start >> (8 * $0)) } + [1, 0, 0, 0]
        bytes += end
        let opened = try await OpenedElsewhere(directory.write("many.epub", bytes), seconds: OpenedElsewhere.hostileSeconds)
        #expect(opened.outcome == "opening.parsing-failed")
        #expect(opened.peak < limit)
    }

    @Test func `that is cut off anywhere is refused`() async throws {
        let bytes = MadeArchive.epub().bytes
        for count in stride(from: 0, to: bytes.count, by: 7) {
            let path = directory.write("cut.epub", Array(bytes.prefix(count)))
            await #expect(throws: Publication.OpeningError.self, "\(count) bytes") {
                try await Streamer(onAskCredentials: nil).open(asset: PublicationAsset(path: path), allowUserInteraction: false)
            }
        }
    }
}
