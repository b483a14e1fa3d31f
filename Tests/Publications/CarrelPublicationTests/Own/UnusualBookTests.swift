// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelPublication

/// Files that are valid and unusual, as people have them.
@Suite("A book as it comes")
struct UnusualBookTests {
    private let directory = TemporaryDirectory()
    private let book = UnpackedBook()

    private static func package(_ items: String, spine: String = "<itemref idref=\"c\"/>", toc: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-16"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
        xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Día más</dc:title></metadata><manifest>
        <item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>\(items)</manifest><spine\(toc)>\(spine)</spine></package>
        """
    }

    private static let nav = "<item id=\"n\" href=\"nav.xhtml\" properties=\"nav\" media-type=\"application/xhtml+xml\"/>"
    private static let ncx = "<item id=\"x\" href=\"toc.ncx\" media-type=\"application/x-dtbncx+xml\"/>"

    private static func utf16(_ text: String) -> [UInt8] {
        ([0xfeff] + Array(text.utf16)).flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    }

    private static func contents(_ list: String) -> String {
        """
        <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc">\(list)</nav></body></html>
        """
    }

    private func open(_ list: String) async throws -> Publication {
        try await book.open(
            Array(Self.package(Self.nav).utf8),
            ["EPUB/nav.xhtml": Array(Self.contents(list).utf8), "EPUB/c.xhtml": UnpackedBook.chapter]
        )
    }

    private func cbz(_ entries: [(name: String, content: [UInt8])]) -> String {
        directory.write("a.cbz", MadeArchive(entries.map { MadeArchive.Entry($0.name, $0.content) }).bytes)
    }

    private func open(path: String) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: book.warnings)
    }

    @Test func `in UTF-16 is read: package, navigation and NCX`() async throws {
        let publication = try await book.open(
            Self.utf16(Self.package(Self.nav)),
            [
                "EPUB/nav.xhtml": Self.utf16(Self.contents("<ol><li><a href=\"c.xhtml\">São Paulo</a></li></ol>")),
                "EPUB/c.xhtml": UnpackedBook.chapter,
            ]
        )
        #expect(publication.metadata.title == "Día más")
        #expect(publication.tableOfContents.map(\.title) == ["São Paulo"])
        let other = UnpackedBook()
        let ncx =
            "<ncx><navMap><navPoint><navLabel><text>Día</text></navLabel><content src=\"c.xhtml\"/></navPoint></navMap></ncx>"
        let old = try await other.open(
            Self.utf16(Self.package(Self.ncx, toc: " toc=\"x\"")),
            ["EPUB/toc.ncx": Self.utf16(ncx), "EPUB/c.xhtml": UnpackedBook.chapter]
        )
        #expect(old.tableOfContents.map(\.title) == ["Día"])
    }

    @Test func `whose ComicInfo is in UTF-16 is called what that says`() async throws {
        let info = Self.utf16("<?xml version=\"1.0\" encoding=\"UTF-16\"?><ComicInfo><Title>Día</Title></ComicInfo>")
        let publication = try await open(path: cbz([("1.png", [1]), ("ComicInfo.xml", info)]))
        #expect(publication.metadata.title == "Día")
    }

    @Test func `has the words of pictures in its contents, and what is below entries without any`() async throws {
        let publication = try await open(
            """
            <ol><li><a href="c.xhtml"><img src="1.png" alt="First  part"/></a></li>
            <li><a href="c.xhtml#2"><img src="2.png" title="Second part"/></a></li>
            <li><a href="c.xhtml#3" title="Third part"><img src="3.png" alt=" "/></a></li>
            <li><a href="c.xhtml#4">Part<br/>four <img src="4.png" alt="not this"/></a></li>
            <li><a href="c.xhtml#5"><img src="5.png" alt=""/></a><ol><li><a href="c.xhtml#6">Six</a></li>
            <li><span></span><ol><li><a href="c.xhtml#7">Seven</a></li></ol></li></ol></li>
            <li><a href="c.xhtml#8"></a></li></ol>
            """
        )
        #expect(
            publication.tableOfContents.map(\.title) == ["First part", "Second part", "Third part", "Part four", "Six", "Seven"]
        )
        #expect(publication.tableOfContents.last?.href == "EPUB/c.xhtml#7")
    }

    @Test func `of version 2 has the same in its NCX`() async throws {
        func point(_ label: String, _ number: Int, _ children: String = "") -> String {
            "<navPoint><navLabel><text>\(label)</text></navLabel><content src=\"c.xhtml#\(number)\"/>\(children)</navPoint>"
        }
        let ncx =
            "<ncx><navMap>" + point("Part<br/>one", 1) + point("<img alt=\"Second\"/>", 2)
            + point(" ", 3, point("Four", 4) + point("", 5, point("Six", 6))) + "</navMap></ncx>"
        let publication = try await book.open(
            Array(Self.package(Self.ncx, toc: " toc=\"x\"").utf8),
            ["EPUB/toc.ncx": Array(ncx.utf8), "EPUB/c.xhtml": UnpackedBook.chapter]
        )
        #expect(publication.tableOfContents.map(\.title) == ["Part one", "Second", "Four", "Six"])
    }

    @Test func `with too large contents has the beginning of them, and says so`() async throws {
        let entries = (0..<120_000).map { "<li><a href=\"c.xhtml#\($0)\">\($0)</a></li>" }.joined()
        let publication = try await open("<ol><li><a href=\"c.xhtml\">All</a><ol>\(entries)</ol></li></ol>")
        let contents = try #require(publication.tableOfContents.first)
        #expect(contents.title == "All")
        #expect((100_000..<120_000).contains(contents.children.count))
        #expect(contents.children.last.map { Int($0.title ?? "") } == contents.children.count - 1)
        let message = "the end of the contents in \"EPUB/nav.xhtml\" is left out: the XML has more than 220000 elements at byte "
        #expect(book.warnings.warnings.count == 1 && book.warnings.warnings.first?.message.hasPrefix(message) == true)

        let deep = UnpackedBook()
        let nested = (0..<100).map { "<ol><li><a href=\"c.xhtml#\($0)\">\($0)</a>" }.joined()
        let document = Self.contents(nested + String(repeating: "</li></ol>", count: 100))
        let below = try await deep.open(
            Array(Self.package(Self.nav).utf8),
            ["EPUB/nav.xhtml": Array(document.utf8), "EPUB/c.xhtml": UnpackedBook.chapter]
        )
        var (depth, link) = (0, below.tableOfContents.first)
        while let next = link {
            depth += 1
            link = next.children.first
        }
        #expect((50..<100).contains(depth))
        #expect(deep.warnings.warnings.count == 1)
    }

    @Test func `of version 2 with too large contents has the beginning of them`() async throws {
        let point = "<navPoint><navLabel><text>A</text></navLabel><content src=\"c.xhtml\"/></navPoint>"
        let ncx = "<ncx><navMap>" + String(repeating: point, count: 60_000) + "</navMap></ncx>"
        let publication = try await book.open(
            Array(Self.package(Self.ncx, toc: " toc=\"x\"").utf8),
            ["EPUB/toc.ncx": Array(ncx.utf8), "EPUB/c.xhtml": UnpackedBook.chapter]
        )
        #expect((50_000..<60_000).contains(publication.tableOfContents.count))
        let message = "the end of the contents in \"EPUB/toc.ncx\" is left out: the XML has more than 220000 elements at byte "
        #expect(book.warnings.warnings.count == 1 && book.warnings.warnings.first?.message.hasPrefix(message) == true)
    }

    @Test func `of pictures goes folder by folder, also where backslashes part them`() async throws {
        let names = ["Tale\\ch 1.5\\1.png", "Tale\\ch 1\\10.png", "Tale\\ch 1\\2.png", "Tale\\"]
        let publication = try await open(path: cbz(names.map { ($0, $0.hasSuffix("\\") ? [] : Self.png()) }))
        #expect(publication.metadata.title == "Tale")
        #expect(
            publication.readingOrder.map(\.href) == ["Tale/ch%201/2.png", "Tale/ch%201/10.png", "Tale/ch%201.5/1.png"]
        )
        #expect(try await publication.get(publication.readingOrder[2]).read(upTo: 1000) == Self.png())
        #expect(book.warnings.warnings.isEmpty)
    }

    @Test func `says which of its pages cannot be read, and opens`() async throws {
        var archive = MadeArchive((1...4).map { MadeArchive.Entry("\($0).png", Self.png()) })
        archive.entries[1].method = 14
        archive.entries[2].packed = []
        archive.entries[2].size = 0
        archive.entries[2].crc = 0
        let publication = try await open(path: directory.write("a.cbz", archive.bytes))
        #expect(publication.readingOrder.count == 4)
        #expect(
            book.warnings.warnings.map(\.message) == [
                "page 2 cannot be read: \"2.png\" is compressed in a way that is not supported", "page 3, \"3.png\", is empty",
            ]
        )
        #expect(book.warnings.warnings.allSatisfy { $0.severity == .major })
    }

    private static func bytes(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap(\.self) }
    private static func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Chunks of a PNG picture, as far as their sums do not matter.
    private static func png(width: UInt8 = 2, data: Int = 20) -> [UInt8] {
        let (high, low) = (UInt8(data >> 8), UInt8(data & 0xff))
        return bytes(
            [0x89],
            ascii("PNG\r\n\u{1a}\n"),
            [0, 0, 0, 13],
            ascii("IHDR"),
            [0, 0, 0, width, 0, 0, 0, 3, 8, 2, 0, 0, 0, 1, 2, 3, 4],
            [0, 0, high, low],
            ascii("IDAT"),
            Array(repeating: 7, count: data + 4),
            [0, 0, 0, 0],
            ascii("IEND"),
            [1, 2, 3, 4]
        )
    }

    private static func jpeg(before: Int = 20, width: UInt8 = 2) -> [UInt8] {
        let (high, low) = (UInt8((before + 2) >> 8), UInt8((before + 2) & 0xff))
        return bytes(
            [0xff, 0xd8, 0xff, 0xe0, high, low],
            Array(repeating: 1, count: before),
            [0xff, 0xc0, 0, 11, 8, 0, 3, 0, width, 1, 1, 0x11, 0, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 5, 5, 0xff, 0xd9]
        )
    }

    private static func webP(_ size: UInt8 = 2) -> [UInt8] {
        bytes(
            ascii("RIFF"),
            [24, 0, 0, 0],
            ascii("WEBPVP8 "),
            [12, 0, 0, 0, 0x30, 1, 0, 0x9d, 1, 0x2a, size, 0, size, 0, 9, 9]
        )
    }

    @Test func `reports pages that are not complete pictures of their kind`() async throws {
        let gif = Self.bytes(Self.ascii("GIF89a"), [2, 0, 3, 0, 0, 0, 0, 0x3b])
        let long = Self.png(data: 20_000)
        let zeroed = Self.bytes(Array(long.prefix(8000)), Array(repeating: 0, count: long.count - 8000))
        let page = Self.ascii("<html>not found</html>")
        let pages: [(name: String, content: [UInt8])] = [
            ("01.png", Self.png()), ("02.jpg", Self.jpeg()), ("03.gif", gif), ("04.webp", Self.webP()), ("05.jpg", Self.png()),
            ("06.jpg", Self.jpeg(before: 60_000)), ("07.png", long),
            ("11.png", Array(repeating: 0, count: 5000)), ("12.png", Self.png().dropLast(16)),
            ("13.png", Array(Self.png().prefix(20))), ("14.png", zeroed), ("15.png", long.dropLast(9000)),
            ("16.jpg", Self.jpeg().dropLast(2)), ("17.jpg", Array(Self.jpeg().prefix(30))), ("18.jpg", Self.jpeg(width: 0)),
            ("19.webp", Self.webP().dropLast()), ("20.gif", Array(gif.prefix(8))), ("21.png", Self.png(width: 0)),
            ("22.png", page), ("23.webp", Self.webP(0)),
        ]
        _ = try await open(path: cbz(pages))
        let reasons = [
            "is not a picture of a known kind", "is cut off", "is cut off", "is cut off", "is cut off", "is cut off",
            "is cut off",
            "has no size", "is cut off", "is cut off", "has no size", "is not a picture of a known kind", "has no size",
        ]
        let faulty = pages.enumerated().dropFirst(7)
        #expect(
            book.warnings.warnings.map(\.message)
                == zip(faulty, reasons).map { "page \($0.offset + 1), \"\($0.element.name)\", \($1)" }
        )
    }

    @Test func `of a hundred thousand pages with long names is not sorted to the end after a cancellation`() async throws {
        let folder = String(repeating: "x", count: 100)
        let paths = (0..<100_000).reversed().compactMap { ResourcePath(decoded: "\(folder) \($0)/page 1.png") }
        let task = Task {
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            return try await NaturalSorting.sorted(paths)
        }
        await #expect(throws: ResourceError(.cancelled, "")) { try await task.value }
    }

    @Test func `of PDF whose pages follow from right to left says so`() async throws {
        for (direction, progression) in [("/R2L", Metadata.ReadingProgression.rtl), ("/L2R", nil)] {
            let pdf = TestPDF(pages: 1, catalog: "/ViewerPreferences << /Direction \(direction) >>", others: [])
            let publication = try await open(path: directory.write("a.pdf", pdf.bytes))
            #expect(publication.metadata.readingProgression == progression)
        }
    }
}
