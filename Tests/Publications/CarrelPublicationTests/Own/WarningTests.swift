// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPublication

/// Every mistake that a publication is opened in spite of, and the words for it: what is wrong, and where.
@Suite("A mistake in a publication")
struct WarningTests {
    struct Mistake: CustomTestStringConvertible, Sendable {
        let severity: Warning.Severity
        let message: String
        let archive: MadeArchive
        var name = "book.epub"
        var testDescription: String { message }
    }

    private static func book(_ severity: Warning.Severity, _ message: String, _ files: [String: String?]) -> Mistake {
        var archive = MadeArchive.epub(files.compactMapValues { $0.map { Array($0.utf8) } })
        archive.entries.removeAll { entry in files.contains { $0.value == nil && Array($0.key.utf8) == entry.name } }
        return Mistake(severity: severity, message: message, archive: archive)
    }

    private static func package(_ from: String, _ to: String) -> [String: String?] {
        ["EPUB/package.opf": MadeArchive.package.replacing(from, with: to)]
    }

    private static func manifest(_ severity: Warning.Severity, _ message: String, _ json: String, _ name: String = "manifest")
        -> Mistake
    {
        var archive = MadeArchive([MadeArchive.Entry("\(name).json", json)])
        archive.add("a.html", "<html/>")
        return Mistake(severity: severity, message: message, archive: archive, name: "book.webpub")
    }

    private static let mistakes: [Mistake] = inPackages + inContainers + inManifests

    private static let inPackages = [
        book(
            .minor,
            #"item 2 of "EPUB/package.opf" has no id or no address and is left out"#,
            package(#"<item id="c""#, #"<item href="x"/><item id="c""#)
        ),
        book(
            .minor,
            #"reference 2 in the spine of "EPUB/package.opf" leads nowhere and is left out"#,
            package("</spine>", "<itemref/></spine>")
        ),
        book(
            .moderate,
            #"the spine of "EPUB/package.opf" refers to "none", which is not in its manifest"#,
            package("</spine>", #"<itemref idref="none"/></spine>"#)
        ),
        book(
            .minor,
            #"the spine of "EPUB/package.opf" refers to "EPUB/c.xhtml" twice; the first counts"#,
            package("</spine>", #"<itemref idref="c"/></spine>"#)
        ),
        book(.major, #""EPUB/package.opf" has no spine"#, package(#"<spine><itemref idref="c"/></spine>"#, "")),
        book(.moderate, #"in "EPUB/package.opf", there is no title"#, package("<dc:title>Book</dc:title>", "")),
        book(.moderate, "the publication has no table of contents", package(#"properties="nav" "#, "")),
        book(.major, #""EPUB/c.xhtml" of the reading order is not in the container"#, ["EPUB/c.xhtml": nil]),
    ]

    private static let inContainers = [
        book(.minor, #""mimetype" is not there"#, ["mimetype": nil]),
        book(
            .minor,
            #""META-INF/container.xml" names 2 renditions; the first is opened"#,
            [
                "META-INF/container.xml": MadeArchive.container.replacing(
                    "</rootfiles>",
                    with: #"<rootfile full-path="x"/></rootfiles>"#
                )
            ]
        ),
        book(
            .moderate,
            #""EPUB/nav.xhtml" cannot be read: an end tag of the XML does not match its start tag at byte"#,
            ["EPUB/nav.xhtml": "<html></body>"]
        ),
        book(.moderate, #""EPUB/nav.xhtml" is not in the publication"#, ["EPUB/nav.xhtml": nil]),
        book(.major, #""META-INF/encryption.xml" cannot be read: the XML"#, ["META-INF/encryption.xml": "nothing"]),
        book(
            .moderate,
            #"entry 2 of "META-INF/encryption.xml" does not say what is encrypted, or how, and is left out"#,
            [
                "META-INF/encryption.xml": """
                <encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><CipherData>
                <CipherReference URI="a.otf"/></CipherData></EncryptedData><EncryptedData/></encryption>
                """
            ]
        ),
        added(.moderate, #"entry "../evil" is left out, because its name leads out of the archive"#, "../evil"),
        added(
            .minor,
            #"the name of entry "EPUB/a|b.txt" has a character that EPUB does not allow, U+007C"#,
            "EPUB/a|b.txt"
        ),
        added(
            .minor,
            "the name of entry \"EPUB/a\u{e000}.txt\" has a character that EPUB does not allow, U+E000",
            "EPUB/a\u{e000}.txt"
        ),
        added(
            .minor,
            #"the names of entries "EPUB/c.xhtml" and "EPUB/C.XHTML" differ only in upper and lower case"#,
            "EPUB/C.XHTML"
        ),
        changed(
            .moderate,
            "the name of entry \"EPUB/\u{fffd}.css\" is not UTF-8 and is read as \"EPUB/é.css\""
        ) { archive in
            archive.add("EPUB/a.css", "a")
            let last = archive.entries.count - 1
            (archive.entries[last].name, archive.entries[last].flags) = (Array("EPUB/".utf8) + [0x82] + Array(".css".utf8), 0)
        },
        changed(.minor, #""mimetype" has an extra field in front of its content"#) { archive in
            archive.entries[0].extra = [0x55, 0x54, 1, 0, 0]
        },
        added(.moderate, #"two entries are called "EPUB/c.xhtml"; the first counts"#, "EPUB/c.xhtml"),
        Mistake(
            severity: .moderate,
            message: #""a/ComicInfo.xml" cannot be read: the XML"#,
            archive: MadeArchive([MadeArchive.Entry("a/1.png", "x"), MadeArchive.Entry("a/ComicInfo.xml", "nothing")]),
            name: "book.cbz"
        ),
    ]

    private static func changed(
        _ severity: Warning.Severity,
        _ message: String,
        _ change: (inout MadeArchive) -> Void
    ) -> Mistake {
        var archive = MadeArchive.epub()
        change(&archive)
        return Mistake(severity: severity, message: message, archive: archive)
    }

    private static func added(_ severity: Warning.Severity, _ message: String, _ name: String) -> Mistake {
        var archive = MadeArchive.epub()
        archive.add(name, "again")
        return Mistake(severity: severity, message: message, archive: archive)
    }

    private static let inManifests = [
        manifest(.moderate, "the manifest has no title", #"{"metadata": {}, "readingOrder": ["a.html"]}"#),
        manifest(
            .minor,
            #"in "readingOrder", link 2 has no address and is left out"#,
            #"{"metadata": {"title": "T"}, "readingOrder": ["a.html", {"title": "x"}]}"#
        ),
        manifest(
            .minor,
            #"in the children of "a.html", link 1 has no address and is left out"#,
            #"{"metadata": {"title": "T"}, "readingOrder": ["a.html"], "toc": [{"href": "a.html", "children": [{}]}]}"#
        ),
        manifest(
            .minor,
            #"in "readingOrder", "a.html" has a malformed media type"#,
            #"{"metadata": {"title": "T"}, "readingOrder": [{"href": "a.html", "type": "text"}]}"#
        ),
        manifest(
            .minor,
            #"in "editor", a contributor without a name is left out"#,
            #"{"metadata": {"title": "T", "editor": {"sortAs": "x"}}, "readingOrder": ["a.html"]}"#
        ),
        manifest(
            .minor,
            #"in "subject", a subject without a name is left out"#,
            #"{"metadata": {"title": "T", "subject": [{}]}, "readingOrder": ["a.html"]}"#
        ),
        manifest(
            .minor,
            #"the absolute address "http://example.org/a.html" is taken for an entry of the package"#,
            #"{"metadata": {"title": "T"}, "readingOrder": ["http://example.org/a.html"]}"#
        ),
        manifest(
            .major,
            #""b.html" of the reading order is not in the package"#,
            #"{"metadata": {"title": "T"}, "readingOrder": ["a.html", "b.html"]}"#
        ),
        manifest(
            .minor,
            #"in "readingOrder", link 2 has no address and is left out"#,
            #"{"name": "T", "readingOrder": ["a.html", {"name": "x"}]}"#,
            "publication"
        ),
    ]

    @Test(arguments: mistakes)
    func `is said in words that name it and its place, and the publication opens`(mistake: Mistake) async throws {
        let directory = TemporaryDirectory()
        let warnings = WarningList()
        let path = directory.write(mistake.name, mistake.archive.bytes)
        let publication = try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
        publication.close()
        let found = warnings.warnings.first { $0.message.hasPrefix(mistake.message) }
        #expect(found?.severity == mistake.severity, "\(warnings.warnings)")
    }

    private static let twice = #"the names of entries "EPUB/c.xhtml" and "EPUB/C.XHTML" differ only in upper and lower case"#

    @Test func `in a container with a separate license is reported, too, and once`() async throws {
        let directory = TemporaryDirectory()
        var archive = MadeArchive.epub()
        archive.add("EPUB/C.XHTML", "again")
        archive.entries[0].extra = [0x55, 0x54, 1, 0, 0]
        var asset = PublicationAsset(path: directory.write("book.epub", archive.bytes))
        asset.license = Array("{}".utf8)
        let warnings = WarningList()
        try await Streamer(onAskCredentials: nil).open(asset: asset, allowUserInteraction: false, warnings: warnings).close()
        let messages = warnings.warnings.map(\.message)
        #expect(messages.count { $0 == Self.twice } == 1, "\(messages)")
        #expect(messages.count { $0 == #""mimetype" has an extra field in front of its content"# } == 1, "\(messages)")
    }

    /// The name shows that it is an EPUB before it is opened, or only the content does.
    @Test(arguments: ["AES256", "ZipCrypto"], ["book.epub", "book.zip"])
    func `in a container with a password is said, too, and once`(cipher: String, name: String) async throws {
        let sevenZip = try requirePeer("7z")
        let directory = TemporaryDirectory()
        var archive = MadeArchive.epub(deflated: false)
        archive.add("EPUB/C.XHTML", "again")
        for folder in ["META-INF", "EPUB"] { try await checkProcess(["mkdir", "-p", directory.file(folder)]) }
        var names: [String] = []
        for entry in archive.entries {
            names.append(String(decoding: entry.name, as: UTF8.self))
            directory.write(names[names.count - 1], entry.packed)
        }
        let make = [sevenZip, "a", "-tzip", "-mx0", "-psesame", "-mem=\(cipher)", "-bso0", name] + names
        try await checkProcess(make, directory: directory.path)
        let warnings = WarningList()
        let publication = try await Streamer(onAskCredentials: nil)
            .open(
                asset: PublicationAsset(path: directory.file(name)),
                allowUserInteraction: false,
                credentials: "sesame",
                warnings: warnings
            )
        #expect(publication.format.conforms(to: .epub))
        publication.close()
        // and nothing of the field that the password puts in front of "mimetype"
        let messages = warnings.warnings.map(\.message)
        #expect(messages.count == 1 && messages[0].hasSuffix("differ only in upper and lower case"), "\(messages)")
    }

    @Test func `that comes a million times costs no memory`() {
        let warnings = WarningList(limit: 10)
        for number in 0..<1000 { warnings.log(Warning(.minor, "\(number)")) }
        #expect(warnings.warnings.map(\.message) == (0..<10).map { "\($0)" })
    }
}
