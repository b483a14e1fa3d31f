// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelTesting

/// A publication that a test makes: an EPUB of some chapters, unpacked or zipped.
struct TestBook {
    let directory = TemporaryDirectory()
    var title = "The Reader's Companion"
    /// Name and body of each chapter.
    var chapters: [(name: String, body: String)] = []
    /// Documents outside the reading order (`linear="no"`), which the contents lead to: name and body.
    var asides: [(name: String, body: String)] = []
    /// Further files below `EPUB/`, by name.
    var files: [String: [UInt8]] = [:]
    var isFixed = false
    /// Whether chapters are in UTF-16, with a byte order mark.
    var isUTF16 = false
    /// The content of each chapter's head.
    var head = ""
    /// Attributes of each chapter's body.
    var attributes = ""
    /// The page breaks of the printed book.
    var printedPages: [String] = []
    /// `page-progression-direction` of the spine.
    var progression: String?

    /// Chapters of numbered sentences, every one different.
    static func sentences(chapters: Int, paragraphs: Int) -> TestBook {
        var book = TestBook()
        for chapter in 1...chapters {
            var body = "<h1>Chapter \(chapter)</h1>"
            for paragraph in 1...paragraphs {
                let sentences = (1...5).map { sentence in
                    "Sentence \(sentence) of paragraph \(paragraph) in chapter \(chapter) is about <em>\(word(chapter * 31 + paragraph * 7 + sentence))</em> and \(word(chapter + paragraph * 13 + sentence * 3))."
                }
                body += "<p id=\"p\(paragraph)\">\(sentences.joined(separator: " "))</p>"
            }
            book.chapters.append(("chapter\(chapter).xhtml", body))
        }
        return book
    }

    private static let words = [
        "lighthouses", "umbrellas", "copper wire", "the weather in spring", "cartography", "old letters", "a garden wall",
        "tidal rivers", "bread", "slow trains", "glass", "moths", "winter apples", "unfinished bridges", "salt", "paper boats",
    ]

    private static func word(_ number: Int) -> String { words[number % words.count] }

    /// Writes the files. Returns the path of the folder.
    func write() async throws -> String {
        let root = directory.file("book")
        try await checkProcess(["mkdir", "-p", "\(root)/META-INF", "\(root)/EPUB"])
        directory.write("book/mimetype", "application/epub+zip")
        directory.write(
            "book/META-INF/container.xml",
            """
            <?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """
        )
        let items = (chapters + asides).map {
            "<item id=\"\($0.name)\" href=\"\($0.name)\" media-type=\"application/xhtml+xml\"/>"
        }
        let others = files.keys.sorted().map { "<item id=\"\($0)\" href=\"\($0)\" media-type=\"\(Self.type(of: $0))\"/>" }
        let spine =
            chapters.map { "<itemref idref=\"\($0.name)\"/>" }
            + asides.map { "<itemref idref=\"\($0.name)\" linear=\"no\"/>" }
        directory.write(
            "book/EPUB/package.opf",
            """
            <?xml version="1.0"?>
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
            <dc:identifier id="id">urn:test:\(title)</dc:identifier><dc:title>\(title)</dc:title><dc:language>en</dc:language>
            <meta property="dcterms:modified">2026-01-01T00:00:00Z</meta>\
            \(isFixed ? "<meta property=\"rendition:layout\">pre-paginated</meta>" : "")
            </metadata><manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
            \((items + others).joined(separator: "\n"))
            </manifest><spine\(progression.map { " page-progression-direction=\"\($0)\"" } ?? "")>\(spine.joined())</spine></package>
            """
        )
        let contents = chapters.enumerated().map { "<li><a href=\"\($1.name)\">Chapter \($0 + 1)</a></li>" }
        let asideContents = asides.map { "<li><a href=\"\($0.name)#mark\">Aside \($0.name)</a></li>" }
        let numbers = printedPages.enumerated().map { "<li><a href=\"\($1)\">\($0 + 1)</a></li>" }
        let pageList = numbers.isEmpty ? "" : "<nav epub:type=\"page-list\"><ol>\(numbers.joined())</ol></nav>"
        directory.write(
            "book/EPUB/nav.xhtml",
            Self.page("Contents", "", "<nav epub:type=\"toc\"><ol>\((contents + asideContents).joined())</ol></nav>" + pageList)
        )
        for chapter in chapters + asides {
            let page = Self.page(title, head, chapter.body, attributes)
            directory.write("book/EPUB/\(chapter.name)", isUTF16 ? Self.utf16(page) : Array(page.utf8))
        }
        for (name, bytes) in files { directory.write("book/EPUB/\(name)", bytes) }
        return root
    }

    /// Writes a packed EPUB. Returns its path.
    func zip() async throws -> String {
        let zip = try requirePeer("zip")
        let root = try await write()
        try await checkProcess([zip, "-qX0", "../book.epub", "mimetype"], directory: root)
        try await checkProcess([zip, "-qXr9", "../book.epub", "META-INF", "EPUB"], directory: root)
        return directory.file("book.epub")
    }

    /// Opens it.
    func open(
        packed isPacked: Bool = false,
        _ onCreatePublication: Publication.Builder.Transform? = nil
    ) async throws -> Publication {
        let path = isPacked ? try await zip() : try await write()
        let directory = directory
        return try await Streamer(onAskCredentials: nil)
            .open(
                asset: PublicationAsset(path: path),
                allowUserInteraction: false,
                onCreatePublication: { builder in
                    // the files stay as long as the publication does
                    builder.services.set(Files.self) { _ in Files(directory) }
                    onCreatePublication?(&builder)
                }
            )
    }

    private final class Files: PublicationService {
        private let directory: TemporaryDirectory

        init(_ directory: TemporaryDirectory) {
            self.directory = directory
        }
    }

    private static func page(_ title: String, _ head: String, _ body: String, _ attributes: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE html>
        <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en"><head><title>\(title)</title>\
        \(head)</head><body \(attributes)>\(body)</body></html>
        """
    }

    private static func utf16(_ page: String) -> [UInt8] {
        let units = page.replacing("encoding=\"UTF-8\"", with: "encoding='utf-16'").utf16
        return [0xff, 0xfe] + units.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css"
        case "js": "text/javascript"
        case "svg": "image/svg+xml"
        case "ttf": "font/ttf"
        case "html": "text/html"
        default: "application/octet-stream"
        }
    }
}
