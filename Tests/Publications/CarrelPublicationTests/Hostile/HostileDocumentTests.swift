// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("A hostile document")
struct HostileDocumentTests {
    private let directory = TemporaryDirectory()
    /// MiB that opening anything may take, in a process with nothing else in it.
    private let limit = 64.0

    private func open(_ files: [String: [UInt8]], name: String = "hostile.epub") async throws -> OpenedElsewhere {
        let opened = try await OpenedElsewhere(
            directory.write(name, MadeArchive.epub(files).bytes),
            seconds: OpenedElsewhere.hostileSeconds
        )
        #expect(opened.peak < limit, "MiB")
        return opened
    }

    private func open(_ document: String, as name: String) async throws -> OpenedElsewhere {
        try await open([name: Array(document.utf8)])
    }

    private func package(metadata: String = "", items: String = "", spine: String = "") -> String {
        """
        <package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
        <dc:title>Book</dc:title>\(metadata)</metadata><manifest>\(items)
        <item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>
        <spine toc="ncx">\(spine)<itemref idref="c"/></spine></package>
        """
    }

    /// Each document of an EPUB, by its place.
    private static let documents = [
        "META-INF/container.xml", "EPUB/package.opf", "EPUB/nav.xhtml", "EPUB/toc.ncx", "META-INF/encryption.xml",
    ]

    /// The document of a place with `head` before its root element and `inside` within it.
    private func document(_ name: String, head: String = "", inside: String) -> [String: [UInt8]] {
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        switch name {
        case "META-INF/container.xml":
            return [name: text(head + MadeArchive.container.dropFirst(21).replacing("<rootfiles>", with: "\(inside)<rootfiles>"))]
        case "EPUB/package.opf": return [name: text(head + package(metadata: "<dc:creator>\(inside)</dc:creator>"))]
        case "EPUB/nav.xhtml": return [name: text(head + MadeArchive.navigation.replacing("One", with: "One\(inside)"))]
        case "EPUB/toc.ncx":
            let item = #"<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>"#
            let ncx = """
                \(head)<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>One\(inside)</text></navLabel>
                <content src="c.xhtml"/></navPoint></navMap></ncx>
                """
            return [name: text(ncx), "EPUB/package.opf": text(package(items: item))]
        default:
            return [
                name: text("\(head)<encryption xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">\(inside)</encryption>")
            ]
        }
    }

    @Test(arguments: documents)
    func `reads no file and knows no entity of its own`(name: String) async throws {
        directory.write("secret", "a secret")
        let kinds = [
            #"<!DOCTYPE x [<!ENTITY e SYSTEM "file://\#(directory.file("secret"))">]>"#,
            #"<!DOCTYPE x SYSTEM "file://\#(directory.file("secret"))" [<!ENTITY e PUBLIC "p" "http://127.0.0.1:9/">]>"#,
            #"<!DOCTYPE x [<!ENTITY % p SYSTEM "file://\#(directory.file("secret"))"> %p; <!ENTITY e "a secret">]>"#,
        ]
        for head in kinds {
            let path = directory.write("x.epub", MadeArchive.epub(document(name, head: head, inside: "&e;")).bytes)
            do throws(Publication.OpeningError) {
                let publication = try await Streamer(onAskCredentials: nil)
                    .open(asset: PublicationAsset(path: path), allowUserInteraction: false)
                #expect(!String(decoding: publication.manifest.json(), as: UTF8.self).contains("a secret"))
            } catch {
                #expect(error.code == .parsingFailed && error.message.contains("entity"), "\(error)")
            }
        }
    }

    @Test(arguments: documents)
    func `refuses a billion laughs`(name: String) async throws {
        var head = "<!DOCTYPE x [<!ENTITY e0 \"ha\">"
        for level in 1...12 {
            head += "<!ENTITY e\(level) \"\((0..<10).map { _ in "&e\(level - 1);" }.joined())\">"
        }
        check(try await open(document(name, head: head + "]>", inside: "&e12;")), name, "entity")
    }

    @Test(arguments: documents)
    func `as deep as a well is refused or done without`(name: String) async throws {
        let opened = try await open(
            document(
                name,
                inside: String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000)
            )
        )
        check(opened, name, "deeper than")
    }

    @Test(arguments: documents)
    func `with attributes by the ten thousand is refused or done without`(name: String) async throws {
        let attributes = (0..<50_000).map { "a\($0)=\"\"" }.joined(separator: " ")
        check(try await open(document(name, inside: "<a \(attributes)/>")), name, "attributes")
        // few on each element, and very many elements
        let many = String(repeating: #"<a b="" c="" d="" e="" f=""/>"#, count: 150_000)
        check(try await open(document(name, inside: many)), name, "attributes")
    }

    @Test(arguments: documents)
    func `of millions of elements is refused or done without`(name: String) async throws {
        check(try await open(document(name, inside: String(repeating: "<a/>", count: 1_000_000))), name, "elements")
    }

    @Test(arguments: documents)
    func `that is as large as it may be stays within the memory`(name: String) async throws {
        let words = String(repeating: "<a>0123456789012345678901234567890123456789012345678</a>", count: 210_000)
        check(try await open(document(name, inside: words)), name, nil)
        let text = String(repeating: "<a b=\"\(String(repeating: "x", count: 1 << 19))\"/>", count: 30)
        check(try await open(document(name, inside: text)), name, nil)
        let long = String(repeating: "<!-- -->\(String(repeating: "x", count: 1 << 19))<b/>", count: 100)
        check(try await open(document(name, inside: long)), name, "longer than")
    }

    @Test func `that names more encrypted resources than any publication has is done without`() async throws {
        func entries(_ count: Int, _ name: (Int) -> String) -> String {
            let items = (0..<count).map { number in
                #"<EncryptedData><EncryptionMethod Algorithm="a"/><CipherData><CipherReference URI="\#(name(number))"/></CipherData>"#
                    + "</EncryptedData>"
            }
            return "<encryption>\(items.joined())</encryption>"
        }
        let place = "META-INF/encryption.xml"
        check(try await open(entries(90_000) { "\($0)" }, as: place), place, nil)
        check(try await open(entries(90_001) { "\($0)" }, as: place), place, "more resources")
        let long = String(repeating: "x", count: 500_000)
        check(try await open(entries(20) { "\(long)\($0)" }, as: place), place, "more resources")
    }

    /// Without the package there is no publication; the others may be missing. Each fault is named with its place.
    private func check(_ opened: OpenedElsewhere, _ name: String, _ words: String?) {
        if name == "META-INF/container.xml" || name == "EPUB/package.opf", words != nil {
            #expect(opened.outcome == "opening.parsing-failed")
            #expect(opened.message.contains(name) && opened.message.contains(words ?? ""))
        } else {
            #expect(opened.outcome == "open")
            if let words { #expect(opened.warnings.contains { $0.contains(name) && $0.contains(words) }, "\(opened.warnings)") }
        }
    }

    @Test func `whose fallbacks go round, or on and on, is opened`() async throws {
        let round =
            #"<item id="a" href="a" fallback="b"/><item id="b" href="b" fallback="a"/><item id="d" href="d" fallback="d"/>"#
        let circle = try await open(package(items: round, spine: #"<itemref idref="a"/>"#), as: "EPUB/package.opf")
        #expect(circle.outcome == "open")
        #expect(circle.warnings.filter { $0.contains("fallback") }.isEmpty)
        let chain = (0..<20_000).map { "<item id=\"i\($0)\" href=\"\($0)\" fallback=\"i\($0 + 1)\"/>" }.joined()
        let long = try await open(package(items: chain, spine: #"<itemref idref="i0"/>"#), as: "EPUB/package.opf")
        #expect(long.outcome == "open")
        #expect(long.warnings.contains { $0.contains("fallbacks") } == false)  // one chain of all is no more than all
        let unread = try await open(package(items: chain), as: "EPUB/package.opf")
        #expect(unread.outcome == "open")
        #expect(unread.warnings.contains { $0.contains("fallbacks") })
    }

    @Test func `that names the same thing over and over is opened with it once`() async throws {
        let spine = String(repeating: #"<itemref idref="c"/>"#, count: 100_000)
        let opened = try await open(package(spine: spine), as: "EPUB/package.opf")
        #expect(opened.outcome == "open")
        #expect(opened.links == 1)
        #expect(opened.warnings.contains { $0.contains("twice") && $0.contains("EPUB/c.xhtml") })
        let items = (0..<50_000).map { _ in #"<item id="x" href="x"/>"# }.joined()
        #expect(try await open(package(items: items), as: "EPUB/package.opf").outcome == "open")
        let types = (0..<100_000).map { "t\($0)" }.joined(separator: " ")
        let navigation = MadeArchive.navigation.replacing("epub:type=\"toc\"", with: "epub:type=\"toc \(types)\"")
        let lists = try await open(navigation, as: "EPUB/nav.xhtml")
        #expect(lists.outcome == "open")
    }

    @Test func `with a crowd of creators and translations takes no longer for each of them`() async throws {
        let creators = (0..<20_000).map { number in
            "<dc:creator id=\"p\(number)\">P</dc:creator><meta refines=\"#p\(number)\" property=\"alternate-script\">Q</meta>"
        }
        let opened = try await open(package(metadata: creators.joined()), as: "EPUB/package.opf")
        #expect(opened.outcome == "open")
        let one = (0..<100_000).map { _ in "<meta refines=\"#t\" property=\"alternate-script\">Q</meta>" }
        let title = try await open(package(metadata: "<dc:title id=\"t\">T</dc:title>" + one.joined()), as: "EPUB/package.opf")
        #expect(title.outcome == "open")
    }

    @Test(arguments: ["manifest.json", "publication.json"])
    func `of JSON as deep, as wide or as long as it likes is refused within the memory`(name: String) async throws {
        func refused(_ json: String) async throws {
            let archive = MadeArchive([MadeArchive.Entry(name, Array(json.utf8), deflated: true)])
            let opened = try await OpenedElsewhere(
                directory.write("hostile.webpub", archive.bytes),
                seconds: OpenedElsewhere.hostileSeconds
            )
            #expect(opened.outcome != "open")
            #expect(opened.peak < limit, "MiB")
        }
        let head = #"{"@context": ["https://www.w3.org/ns/pub-context"], "metadata": {"title": "a"}, "readingOrder": ["#
        try await refused(head + String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000) + "]}")
        try await refused(head + String(repeating: "{},", count: 4_000_000) + "{}]}")
        try await refused(head + String(repeating: #"{"href":"a"},"#, count: 1_000_000) + "{}]}")
        try await refused(head + "\"" + String(repeating: "x", count: 20 << 20) + "\"]}")
        try await refused(head + String(repeating: " ", count: 100 << 20) + "]}")
        let nested = String(repeating: #"{"href":"a","children":["#, count: 100) + String(repeating: "]}", count: 100)
        try await refused(head + nested + "]}")
    }

    @Test func `of a comic as deep or as long as it likes is done without`() async throws {
        func open(_ info: String) async throws -> OpenedElsewhere {
            let entries = [MadeArchive.Entry("1.png", "x"), MadeArchive.Entry("ComicInfo.xml", Array(info.utf8), deflated: true)]
            let opened = try await OpenedElsewhere(
                directory.write("hostile.cbz", MadeArchive(entries).bytes),
                seconds: OpenedElsewhere.hostileSeconds
            )
            #expect(opened.outcome == "open")
            #expect(opened.peak < limit, "MiB")
            return opened
        }
        for inside in [
            String(repeating: "<a>", count: 100_000), String(repeating: "<a/>", count: 1_000_000),
            "<a \((0..<50_000).map { "a\($0)=\"\"" }.joined(separator: " "))/>",
        ] {
            #expect(try await open("<ComicInfo>\(inside)</ComicInfo>").warnings.contains { $0.contains("ComicInfo.xml") })
        }
        let pages = String(
            repeating: #"<Page Image="0" Bookmark="B"/><Page Image="-1"/><Page Image="99999999999999999999"/>"#,
            count: 50_000
        )
        #expect(
            try await open("<ComicInfo><Title>T</Title><Number>1e999</Number><Pages>\(pages)</Pages></ComicInfo>").title == "T"
        )
    }
}
