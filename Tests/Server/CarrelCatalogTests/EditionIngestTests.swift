// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelWorks
import Glibc
import Testing

@Suite(.onBothDatabases)
struct `An ingest of an edition` {
    @Test func `packs pages into one archive that common programs can unpack, with a feed of them in order`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let edition = try await test.ingest(EditionFiles.folder(test.directory), "com.example.issue-7").edition
        #expect(edition.title.kind == .edition)
        #expect(edition.title.metadata.title == "Issue & Co")
        #expect(edition.title.metadata.authors == ["A. Writer"])
        #expect(edition.title.metadata.language == "en-GB")
        #expect(edition.entry == "index.html")
        #expect(edition.state == .published)
        let resources = try await test.service.editions.resources(of: edition)
        #expect(
            resources.map(\.path)
                == ["index.html", "pages/2.html", "pages/10.html", "pics/a.png", "style.css", "content.xml"]
        )
        let package = test.directory.write("package.zip", try test.blob(of: edition))
        try await checkProcess([try requirePeer("unzip"), "-q", package, "-d", test.directory.file("unpacked")])
        for resource in resources {
            let unpacked = test.directory.read("unpacked/\(resource.path)")
            #expect(unpacked.map { Int64($0.count) } == resource.byteCount)
            if resource.path != "content.xml" { #expect(unpacked == test.directory.read("issue/\(resource.path)")) }
            let start = Int(resource.offset)
            let range = Array(try test.blob(of: edition)[start..<start + Int(resource.byteCount)])
            #expect(range == unpacked)
        }
        let feed = String(decoding: test.directory.read("unpacked/content.xml") ?? [], as: UTF8.self)
        let order = ["index.html", "pages/2.html", "pages/10.html"].compactMap {
            feed.firstRange(of: "href=\"\($0)\"")?.lowerBound
        }
        #expect(order.count == 3 && order == order.sorted())
    }

    @Test func `takes the same pages the same way from a folder and from an archive with a wrapper`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let first = try await test.ingest(EditionFiles.folder(test.directory), "one").edition
        let zip = StoredZip.write([
            .init("issue/index.html", bytes: test.directory.read("issue/index.html") ?? []), .init("issue/.DS_Store", "x"),
            .init("__MACOSX/issue/index.html", "x"), .init("issue/style.css", "p {}"),
        ])
        let second = try await test.ingest(test.directory.write("two.zip", zip), "two").edition
        #expect(second.entry == "index.html")
        #expect(try await test.service.editions.resources(of: second).map(\.path) == ["index.html", "style.css", "content.xml"])
        #expect(second.title.metadata.title == first.title.metadata.title)
    }

    @Test func `reads an EPUB's package document and cover, and keeps the file unchanged`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let bytes = EditionFiles.epub()
        let edition = try await test.ingest(test.directory.write("x.epub", bytes), "book").edition
        #expect(edition.title.kind == .ebook)
        let metadata = edition.title.metadata
        #expect(metadata.title == "The <Book>")
        #expect(metadata.authors == ["Ann Author"])
        #expect(metadata.isbn?.description == "9780306406157")
        #expect(metadata.description == "Good.")
        #expect(edition.title.cover?.mediaType == "image/png")
        #expect(edition.entry == "book.epub")
        #expect(try test.blob(of: edition) == bytes)
    }

    @Test func `reads the metadata of a PDF`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let edition = try await test.ingest(test.directory.write("x.pdf", EditionFiles.pdf), "paper").edition
        #expect(edition.title.kind == .pdf)
        #expect(edition.title.metadata.title == "A (small) Päper")
        #expect(edition.title.metadata.authors == ["Æb"])
        let cut = test.directory.write("cut.pdf", Array(EditionFiles.pdf.dropLast(7)))
        await #expect(throws: IngestError.self) { try await test.ingest(cut, "cut") }
    }

    static let hostile: [(String, [StoredZip.Entry], String)] = [
        ("a name that leaves", [.init("index.html", "x"), .init("../evil.html", "x")], "leaves its folder"),
        (
            "a picture that leaves and stands in a page",
            [.init("index.html", "<html><img src=\"../a%20b.png\"></html>"), .init("../a b.png", "x")], "leaves its folder"
        ),
        ("an absolute name", [.init("index.html", "x"), .init("/etc/page.html", "x")], "is absolute"),
        ("a link", [.init("index.html", "x"), .link("a.html", to: "/etc/passwd")], "is a symbolic link"),
        ("a password", [.init("index.html", "x"), .locked("secret.html")], "\"secret.html\" is encrypted"),
        ("a clash of case", [.init("index.html", "x"), .init("A.css", "x"), .init("a.css", "y")], "the same name on some disks"),
        ("the server's own folder", [.init("index.html", "x"), .init("-/manifest.xml", "x")], "the server's own"),
        ("nothing to read", [.init("a.css", "x")], "is not an edition"),
    ]

    @Test(arguments: hostile)
    func `is refused with what is wrong`(what: String, entries: [StoredZip.Entry], why: String) async throws {
        let test = try await TestService(with: .editionDelivery)
        let path = test.directory.write("hostile.zip", StoredZip.write(entries))
        let error = await #expect(throws: IngestError.self) { try await test.ingest(path, "hostile") }
        #expect(error?.description.contains(why) == true, "\(what): \(error?.description ?? "")")
        #expect(try await test.service.editions.list().isEmpty)
    }

    @Test func `leaves out what leads elsewhere where no page needs it, and says so`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let entries: [StoredZip.Entry] = [
            .init("index.html", "<html><title>A</title><img src=\"a.png\"></html>"), .init("../notes.txt", "x"),
            .init("a.png", "x"),
            .init("/tmp/unused.png", "x"), .init("../.DS_Store", "x"),
        ]
        let made = try await test.ingest(test.directory.write("pages.zip", StoredZip.write(entries)), "pages")
        #expect(
            try await test.service.editions.resources(of: made.edition).map(\.path) == ["a.png", "index.html", "content.xml"]
        )
        #expect(
            made.warnings.map { $0.split(separator: ": ").last.map(String.init) } == [
                "name \"../notes.txt\" of entry 1 leaves its folder; it is left out",
                "name \"/tmp/unused.png\" of entry 3 is absolute; it is left out",
                "name \"../.DS_Store\" of entry 4 leaves its folder; it is left out",
            ]
        )
        // apps get an EPUB unchanged
        let epub = test.directory.write("x.epub", EditionFiles.epub([.init("../notes.txt", "x")]))
        let error = await #expect(throws: IngestError.self) { try await test.ingest(epub, "book") }
        #expect(error?.description.contains("name \"../notes.txt\" of entry 4 leaves its folder") == true)
    }

    @Test func `reads an EPUB's documents that have a DOCTYPE, and nothing that it names`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let type = """
            <!DOCTYPE package PUBLIC "+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN" "http://127.0.0.1:9/oebpkg12.dtd" [
            <!ENTITY secret SYSTEM "file:///etc/passwd"> <!ENTITY much "ten ten ten"> ]>
            """
        let opf = EditionFiles.opf.replacing("?>", with: "?>\(type)", maxReplacements: 1)
            .replacing("Ann Author", with: "Ann&nbsp;&Aacute;uthor&secret;&much;")
        let container = EditionFiles.container.replacing("?>", with: "?><!DOCTYPE container>", maxReplacements: 1)
        let bytes = StoredZip.write([
            .init("mimetype", "application/epub+zip"), .init("META-INF/container.xml", container), .init("OEBPS/book.opf", opf),
        ])
        let made = try await test.ingest(test.directory.write("x.epub", bytes), "book")
        #expect(made.edition.title.metadata.title == "The <Book>")
        #expect(made.edition.title.metadata.authors == ["Ann Áuthor"])
        #expect(made.warnings.isEmpty)
    }

    @Test func `is refused for an EPUB whose contents are protected, or that is a bomb`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let encryption = """
            <encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">
            <e:EncryptedData><e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>
            <e:CipherData><e:CipherReference URI="OEBPS/1.xhtml"/></e:CipherData></e:EncryptedData></encryption>
            """
        let locked = test.directory.write("locked.epub", EditionFiles.epub([.init("META-INF/encryption.xml", encryption)]))
        let error = await #expect(throws: IngestError.self) { try await test.ingest(locked, "locked") }
        #expect(error?.description.contains("\"OEBPS/1.xhtml\" in it is encrypted") == true)
        let zeros = test.directory.write("index.html", Array(repeating: 0x20, count: 64 << 20))
        try await checkProcess([try requirePeer("zip"), "-qj9", test.directory.file("bomb.zip"), zeros])
        let bomb = await #expect(throws: IngestError.self) { try await test.ingest(test.directory.file("bomb.zip"), "bomb") }
        #expect(bomb?.description.contains("times its packed size") == true, "\(String(describing: bomb))")
    }

    @Test func `is refused for a folder with a link in it`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let folder = EditionFiles.folder(test.directory)
        #expect(unsafe symlink("/etc/passwd", "\(folder)/pages/passwd.html") == 0)
        let error = await #expect(throws: IngestError.self) { try await test.ingest(folder, "linked") }
        #expect(error?.description.contains("\"pages/passwd.html\" is a symbolic link") == true)
    }

    @Test func `knows what it has, and lets other content take its place`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let folder = EditionFiles.folder(test.directory)
        let before = try test.blobCount()
        let first = try await test.ingest(folder, "issue")
        #expect(first.created)
        let again = try await test.ingest(folder, "issue") { $0.price = .free }
        #expect(!again.created)
        #expect(again.edition.price == .free)
        #expect(again.edition.contentAt == first.edition.contentAt)

        test.clock.advance(by: .seconds(60))
        test.directory.write("issue/pages/2.html", Array("<title>Corrected</title>".utf8))
        let corrected = try await test.ingest(folder, "issue")
        #expect(corrected.change == .replaced && again.change == .none)
        #expect(corrected.edition.title.id == first.edition.title.id)
        #expect(corrected.edition.price == .free, "what is not said stays")
        #expect(corrected.edition.contentAt > first.edition.contentAt)
        #expect(try await test.service.blobSweep.run() == 1, "the old content goes, some time later")
        #expect(try test.blobCount() == before + 1)
    }

    @Test func `may give one content to several products, which share a file's blob and part with it one by one`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let (book, pages) = (test.directory.write("x.epub", EditionFiles.epub()), EditionFiles.folder(test.directory))
        let before = try test.blobCount()
        let first = try await test.ingest(book, "one")
        let second = try await test.ingest(book, "two") { $0.price = .free }
        #expect(first.created && second.created && first.edition.title.id != second.edition.title.id)
        #expect(first.edition.mediaBlob == second.edition.mediaBlob)
        #expect(try test.blobCount() == before + 2, "the book and its cover, once")
        for product in ["one", "two"] { #expect(try await test.ingest(book, product).change == .none) }
        test.clock.advance(by: .seconds(2 * 86_400))
        #expect(try await test.ingest(pages, "one").change == .replaced)
        _ = try await test.service.blobSweep.run()
        #expect(try test.blob(of: second.edition) == EditionFiles.epub(), "the other still has it")
        #expect(try await test.ingest(pages, "two").change == .replaced)
        #expect(try await test.ingest(book, "one").change == .replaced, "and it may come back")
        #expect(try test.blob(of: try await test.service.editions.find("one")) == EditionFiles.epub())
    }

    @Test func `says in the feed of its pages when each changed`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let folder = EditionFiles.folder(test.directory)
        func times(_ product: String) async throws -> [String: String] {
            _ = try await test.ingest(folder, product) { $0.price = .free }
            let answer = try await test.send(.get, "/editions/\(product)/content.xml")
            let feed = String(decoding: answer.body, as: UTF8.self)
            var found: [String: String] = [:]
            for entry in feed.split(separator: "<entry>").dropFirst() {
                let path = entry.split(separator: "href=\"").dropFirst().first?.prefix { $0 != "\"" }
                found[String(path ?? "")] = entry.split(separator: "<updated>").last.map { String($0.prefix { $0 != "<" }) }
            }
            found["feed"] = feed.split(separator: "<updated>").dropFirst().first.map { String($0.prefix { $0 != "<" }) }
            return found
        }
        let made = test.clock.now.description
        let first = try await times("issue")
        #expect(first == ["index.html": made, "pages/2.html": made, "pages/10.html": made, "feed": made])
        test.clock.advance(by: .seconds(86_400))
        test.directory.write("issue/pages/2.html", Array("<title>Corrected</title>".utf8))
        let corrected = test.clock.now.description
        var expected = first
        (expected["pages/2.html"], expected["feed"]) = (corrected, corrected)
        #expect(try await times("issue") == expected)
        test.clock.advance(by: .seconds(86_400))
        #expect(try await times("issue") == expected, "the same again changes nothing")
        let now = test.clock.now.description
        #expect(Set(try await times("other").values) == [now], "another product is as new as its pages are to its readers")
        // For content ingested before times were stored, the edition's time is known.
        try await test.service.database.write { _ = try $0.run(SQL("UPDATE edition_resources SET changed_at = 0"), []) }
        test.clock.advance(by: .seconds(86_400))
        test.directory.write("issue/pages/10.html", Array("<title>Last</title>".utf8))
        let last = try await times("other")
        #expect(last["index.html"] == now && last["pages/10.html"] == test.clock.now.description)
    }

    @Test func `takes samples by pattern, and refuses one that fits nothing`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let folder = EditionFiles.folder(test.directory)
        await #expect(throws: IngestError.self) { try await test.ingest(folder, "issue", samples: ["page/*"]) }
        let edition = try await test.ingest(folder, "issue", samples: ["pages/2.*", "pics/**"]).edition
        let open = try await test.service.editions.resources(of: edition).filter(\.isSample).map(\.path)
        #expect(open == ["pages/2.html", "pics/a.png", "content.xml"])
        #expect(edition.sampleCount == 3)
        await #expect(throws: ServerError(.invalid, "")) { try await test.ingest(folder, "issue", samples: ["page/*"]) }
        #expect(try await test.ingest(folder, "issue", samples: ["index.html"]).edition.sampleCount == 2)
    }

    @Test(arguments: ["", "a/b", "a\\b", "..", ".", "a b", "a\nb", "blå", String(repeating: "a", count: 129)])
    func `is refused under a product id that not all programs read alike`(id: String) async throws {
        let test = try await TestService(with: .editionDelivery)
        let folder = EditionFiles.folder(test.directory)
        await #expect(throws: ServerError(.invalid, "")) { try await test.ingest(folder, id) }
    }

    @Test func `leaves drafts alone until they are published, and takes back what is withdrawn`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let draft = try await test.ingest(EditionFiles.folder(test.directory), "issue") { $0.isDraft = true }.edition
        #expect(draft.state == .draft && draft.publishedAt == nil)
        let editions = test.service.editions
        await #expect(throws: ServerError(.conflict, "")) { try await editions.withdraw("issue", by: AuditActor("operator")) }
        #expect(try await editions.publish("issue", by: AuditActor("operator")).publishedAt == test.clock.now)
        test.clock.advance(by: .seconds(1))
        #expect(try await editions.withdraw("issue", by: AuditActor("operator")).withdrawnAt == test.clock.now)
        let back = try await editions.publish("issue", by: AuditActor("operator"))
        #expect(back.withdrawnAt == nil && back.publishedAt != test.clock.now)
        await #expect(throws: ServerError(.invalid, "")) {
            var change = Editions.Change()
            change.publishedAt = test.clock.now + .seconds(60)
            return try await editions.change("issue", change, by: AuditActor("operator"))
        }
    }

    @Test func `can be sent to the API, listed, shown, changed and withdrawn there`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let local = Peer.local(userID: 0)
        let request = HTTPRequest(
            .post,
            "/admin/v1/editions?productId=book&price=free&title=Other&issued=2026-01-31T00:00:00Z",
            body: EditionFiles.epub(),
            peer: local
        )
        let response = await test.service.router.respond(to: request)
        #expect(response.status == .created)
        let listed = try await test.call(.get, "/admin/v1/editions", peer: local).json["editions"]?.array ?? []
        #expect(listed.map { $0["edition"]?["productId"]?.string } == ["book"])
        #expect(listed.first?["title"] == "Other")
        #expect(listed.first?["edition"]?["issuedAt"]?.string?.hasPrefix("2026-01-31T00:00:00") == true)
        let changed = try await test.call(.patch, "/admin/v1/editions/book", body: ["price": "paid"], peer: local)
        #expect(changed.json["edition"]?["price"] == "paid")
        #expect(try await test.call(.patch, "/admin/v1/editions/book", body: ["prize": "paid"], peer: local).status == 400)
        #expect(
            try await test.call(.post, "/admin/v1/editions/book/withdraw", peer: local).json["edition"]?["state"] == "withdrawn"
        )
        let shown = try await test.call(.get, "/admin/v1/editions/book", peer: local).json
        #expect(shown["resources"]?.array?.first?["mediaType"] == "application/epub+zip")
        #expect(try await test.call(.get, "/admin/v1/editions").status == 401)
        #expect(try await test.call(.get, "/admin/v1/editions/none", peer: local).status == 404)
    }
}

@Suite(.onBothDatabases)
struct `An order of an edition` {
    @Test func `is refused with what to do instead: orders are for listening`() async throws {
        let test = try await TestService(.silence, with: .editionDelivery)
        let edition = try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "book").edition
        let request = Orders.Request(account: "alice", titleID: edition.title.id)
        let error = await #expect(throws: ServerError.self) { try await test.service.orders.place(request) }
        #expect(error?.message.contains("plan give") == true, "\(String(describing: error))")
        let byISBN = try await test.service.orders.place(Orders.Request(account: "alice", isbn: "9780306406157"))
        #expect(byISBN.order.titleID == test.title.id, "the audiobook with this ISBN, not the ebook")
    }
}

struct `A pattern of paths` {
    @Test(arguments: [
        ("*.html", "a.html", true), ("*.html", "a/b.html", false), ("**.html", "a/b.html", true), ("a/**", "a/b/c", true),
        ("a/?.png", "a/ø.png", true), ("a/?.png", "a/10.png", false), ("**", "", true), ("", "a", false),
        ("*a*b*", "xaxbx", true),
        ("a/*/c", "a/b/c", true), ("page/*", "pages/2.html", false), ("a/*/c", "a//c", true), ("***", "a/b", true),
    ])
    func `fits as in a shell`(pattern: String, path: String, fits: Bool) {
        #expect(PathPattern(pattern).matches(path) == fits)
    }
}

extension `An ingest of an edition` {
    @Test(arguments: [(1020, true), (1024, true), (1025, false)])
    func `is a PDF document wherever PDFium takes its header`(offset: Int, isTaken: Bool) async throws {
        let directory = TemporaryDirectory()
        let path = directory.write("late.pdf", [UInt8](repeating: 0x20, count: offset) + EditionFiles.pdf)
        #expect(try EditionIngest.kind(of: path) == (isTaken ? .pdf : nil))
    }
}
