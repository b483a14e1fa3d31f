// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelPublication

@Suite("A PDF publication")
struct PDFTests {
    private let directory = TemporaryDirectory()
    private let warnings = WarningList()

    private func open(_ path: String, _ password: String? = nil) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: true, credentials: password, warnings: warnings)
    }

    @Test func `is its one document, with its outline and its page numbers as lists of links`() async throws {
        var pdf = TestPDF(
            pages: 3,
            catalog: "/Outlines 6 0 R /PageLabels << /Nums [0 << /S /r >> 2 << /S /D >>] >>",
            others: [
                "<< /First 7 0 R >>", "<< /Title (Part) /First 8 0 R >>", "<< /Title (Chapter) /Dest [5 0 R /Fit] >>",
                "<< /Title (A tale) /Author (A. One) >>",
            ]
        )
        pdf.trailer = "/Info 9 0 R"
        let publication = try await open(directory.write("my tale.pdf", pdf.bytes))
        #expect(publication.metadata.title == "A tale")
        #expect(publication.metadata.authors.map(\.name) == ["A. One"])
        #expect(publication.metadata.numberOfPages == 3)
        #expect(publication.manifest.conforms(to: .pdf))
        #expect(publication.readingOrder.map(\.href) == ["my%20tale.pdf"])
        #expect(publication.readingOrder[0].mediaType?.essence == "application/pdf")
        #expect(publication.tableOfContents.map(\.href) == ["my%20tale.pdf#page=3"])
        #expect(publication.tableOfContents[0].children.map(\.title) == ["Chapter"])
        #expect(publication.manifest.pageList.map(\.title) == ["i", "ii", "1"])
        #expect(publication.manifest.pageList[2].href == "my%20tale.pdf#page=3")
        #expect(try await publication.get(publication.readingOrder[0]).read(upTo: 10_000) == pdf.bytes)
        #expect(!publication.isProtected)
        #expect(await publication.rights.canCopy)
        #expect(warnings.warnings.isEmpty)
    }

    @Test func `without a title is called by its file's name`() async throws {
        let publication = try await open(directory.write("Sea and Ships.pdf", TestPDF(pages: 1).bytes))
        #expect(publication.metadata.title == "Sea and Ships")
    }

    @Test func `of others opens with the passwords that others say`() async throws {
        let oracles = try Fixtures.bytes("readium/oracles.json")
        let all = try JSON.parse(oracles.rawSpan)["pdf"]?.object ?? JSONObject()
        #expect(all.count == 20)
        for (name, oracle) in all {
            let path = try Fixtures.path("readium/\(name)")
            let pages = oracle["pages"]?.int.map { Int($0) }
            guard oracle["encrypted"]?.bool == true else {
                #expect(try await open(path).metadata.numberOfPages == pages, "\(name)")
                continue
            }
            let passwords = oracle["passwords"]?.object ?? JSONObject()
            for (password, role) in passwords {
                let publication = try await open(path, password.isEmpty ? nil : password)
                #expect(publication.metadata.numberOfPages == pages, "\(name)")
                #expect(publication.isProtected && !publication.isRestricted)
                #expect(publication.protectionName == "Password")
                // what opens without a password needs one only for more rights
                let isNeeded = !password.isEmpty && (passwords[""] == nil || role.string == "owner")
                #expect(publication.credentials == (isNeeded ? password : nil), "\(name)")
                #expect(publication.format.conforms(to: .pdfPassword))
                let bits = oracle["P"]?.int ?? 0
                let isOwner = role.string == "owner" && !password.isEmpty && passwords.count > 1
                #expect(await publication.rights.canPrint == (isOwner || bits & 4 != 0), "\(name)")
                #expect(await publication.rights.canCopy == (isOwner || bits & 16 != 0), "\(name)")
                // what is served needs no password any more
                let clear = try await publication.get(publication.readingOrder[0]).read(upTo: 1 << 20)
                #expect(try await !open(directory.write("clear.pdf", clear)).isProtected, "\(name)")
            }
            if passwords[""] == nil {
                for (password, code) in [
                    (nil, Publication.OpeningError.Code.credentialsRequired), ("wrong", .incorrectCredentials),
                ] {
                    let locked = try await open(path, password)
                    #expect(locked.isRestricted && locked.protectionName == "Password", "\(name)")
                    #expect((locked.protectionError as? Publication.OpeningError)?.code == code, "\(name)")
                }
            }
        }
        #expect(await (try open(try Fixtures.path("readium/pdf/pypdf/encrypted_doc_no_id.pdf"))).rights.canPrint == false)
    }

    /// Options of `qpdf --encrypt`, and the revision that they make.
    @Test(arguments: [
        ("40", ["--print=n", "--extract=n"]), ("128", ["--print=none", "--extract=n"]), ("256", ["--print=none", "--extract=n"]),
    ])
    func `that qpdf encrypted opens for the user with few rights, and for the owner with all`(
        bits: String,
        options: [String]
    ) async throws {
        let qpdf = try requirePeer("qpdf")
        let plain = directory.write("plain.pdf", TestPDF(pages: 4).bytes)
        let long = "forty characters, of which 32 count for some"
        for (user, owner) in [("ship", "captain"), ("", "captain"), ("same", "same"), ("mère", "père"), (long, long)] {
            let path = directory.file("\(bits)-\(user)-\(owner).pdf")
            let weak = bits == "256" ? [] : ["--allow-weak-crypto"]
            try await checkProcess([qpdf] + weak + ["--encrypt", user, owner, bits] + options + ["--", plain, path])
            let asUser = try await open(path, user.isEmpty ? nil : user)
            #expect(await asUser.rights.canPrint == false)
            #expect(await asUser.rights.canCopy == false)
            #expect(asUser.metadata.numberOfPages == 4)
            guard owner != user else { continue }
            let asOwner = try await open(path, owner)
            #expect(await asOwner.rights.canPrint)
            #expect(await asOwner.rights.canCopy)
            #expect(asOwner.credentials == owner)
        }
    }

    @Test func `prompts again until the password is right, and never without permission`() async throws {
        let qpdf = try requirePeer("qpdf")
        let path = directory.file("locked.pdf")
        let plain = directory.write("plain.pdf", TestPDF(pages: 1).bytes)
        try await checkProcess([qpdf, "--encrypt", "sesame", "captain", "256", "--", plain, path])
        let asset = PublicationAsset(path: path)
        let answers = Locked(["no", "nor this", "sesame"])
        let seen = Locked(0)
        let streamer = Streamer(onAskCredentials: { _, _ in
            seen.withLock { $0 += 1 }
            return answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        })
        for (password, code) in [(nil, Publication.OpeningError.Code.credentialsRequired), ("wrong", .incorrectCredentials)] {
            let locked = try await streamer.open(asset: asset, allowUserInteraction: false, credentials: password)
            #expect((locked.protectionError as? Publication.OpeningError)?.code == code)
        }
        #expect(seen.withLock { $0 } == 0)
        let publication = try await streamer.open(asset: asset, allowUserInteraction: true)
        #expect(publication.credentials == "sesame")
        #expect(seen.withLock { $0 } == 3)
        let given = try await streamer.open(asset: asset, allowUserInteraction: true, credentials: "wrong")
        #expect((given.protectionError as? Publication.OpeningError)?.code == .cancelled)
    }

    @Test func `that is locked is added to the shelf by its name, without readable resources`() async throws {
        let qpdf = try requirePeer("qpdf")
        let plain = directory.write("plain.pdf", TestPDF(pages: 3).bytes)
        let path = directory.file("locked.pdf")
        try await checkProcess([qpdf, "--encrypt", "sesame", "captain", "256", "--", plain, path])
        let locked = try await open(path)
        #expect(locked.isRestricted && locked.isProtected)
        #expect(locked.format.conforms(to: .pdf) && locked.format.conforms(to: .pdfPassword))
        #expect(locked.metadata.title == "locked" && locked.metadata.numberOfPages == nil)
        #expect(locked.credentials == nil)
        let rights = [await locked.rights.canCopy, await locked.rights.canPrint]
        #expect(rights == [false, false])
        await #expect(throws: ResourceError(.forbidden, "")) { try await locked.get(locked.readingOrder[0]).read(0..<5) }
        #expect(throws: Publication.OpeningError(.credentialsRequired, "")) { _ = try Navigator(locked) }
        let cover = try await locked.cover()
        #expect(cover == nil)
    }

    @Test func `with a password inside of a package cannot be opened, and that is said`() async throws {
        let (qpdf, zip) = (try requirePeer("qpdf"), try requirePeer("zip"))
        let plain = directory.write("plain.pdf", TestPDF(pages: 1).bytes)
        directory.write(
            "manifest.json",
            """
            {"metadata": {"title": "A", "conformsTo": "https://readium.org/webpub-manifest/profiles/pdf"},
             "readingOrder": [{"href": "locked.pdf", "type": "application/pdf"}]}
            """
        )
        for options in [["--object-streams=generate"], ["--linearize"], []] {
            try await checkProcess(
                [qpdf] + options + ["--encrypt", "sesame", "captain", "256", "--", plain, directory.file("locked.pdf")]
            )
            try await checkProcess([zip, "-q", "a.webpub", "manifest.json", "locked.pdf"], directory: directory.path)
            await #expect(throws: Publication.OpeningError(.forbidden, "")) {
                try await open(directory.file("a.webpub"), "sesame")
            }
        }
        let locked = directory.read("locked.pdf") ?? []
        directory.write("locked.pdf", TestPDF(pages: 1).bytes)
        try await checkProcess([zip, "-q", "a.webpub", "manifest.json", "locked.pdf"], directory: directory.path)
        #expect(try await open(directory.file("a.webpub")).metadata.title == "A")
        try await checkLocked(locked)
    }

    /// One that a reader cannot do without is an error, any other a warning, in packages of all kinds.
    private func checkLocked(_ locked: [UInt8]) async throws {
        func epub(_ fallback: String, spine: String) -> [UInt8] {
            let item = #"<item id="p" href="p.pdf" media-type="application/pdf"\#(fallback)/>"#
            let package = MadeArchive.package.replacing("</manifest>", with: "\(item)</manifest>")
            return MadeArchive.epub([
                "EPUB/package.opf": Array(package.replacing("</spine>", with: "\(spine)</spine>").utf8), "EPUB/p.pdf": locked,
            ]).bytes
        }
        func package(_ name: String, _ manifest: String) -> [UInt8] {
            MadeArchive([MadeArchive.Entry(name, manifest), MadeArchive.Entry("p.pdf", locked)]).bytes
        }
        let (w3c, pdf) = (
            #""@context": "https://www.w3.org/ns/pub-context", "name": "A""#,
            #""url": "p.pdf", "encodingFormat": "application/pdf""#
        )
        let (page, chapter) = (#"{"href": "p.pdf", "type": "application/pdf"}"#, #"{"href": "c.html", "type": "text/html"}"#)
        let refused = [
            "a.epub": epub("", spine: #"<itemref idref="p"/>"#),
            "a.lpf": package("publication.json", "{\(w3c), \"readingOrder\": [{\(pdf)}]}"),
        ]
        for (name, bytes) in refused {
            await #expect(throws: Publication.OpeningError(.forbidden, ""), "\(name)") {
                try await open(directory.write(name, bytes))
            }
        }
        let warned = [
            "a.epub": epub("", spine: ""), "b.epub": epub(#" fallback="c""#, spine: #"<itemref idref="p"/>"#),
            "a.lpf": package("publication.json", "{\(w3c), \"readingOrder\": [\"c.html\"], \"resources\": [{\(pdf)}]}"),
            "a.webpub": package(
                "manifest.json",
                "{\"metadata\": {\"title\": \"A\"}, \"readingOrder\": [\(chapter)], \"resources\": [\(page)]}"
            ),
        ]
        for (name, bytes) in warned {
            let heard = WarningList()
            _ = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: directory.write(name, bytes)), allowUserInteraction: false, warnings: heard)
            #expect(heard.warnings.contains { $0.severity == .major && $0.message.contains("a password of its own") }, "\(name)")
        }
    }

    /// In memory, and on the disk.
    @Test(arguments: [3, AnonymousFile.memoryLimit + 1])
    func `is decrypted into a file that is unnamed and unchangeable`(length: Int64) async throws {
        let file = try AnonymousFile(expecting: length)
        try file.append([1, 2, 3])
        let resource = try file.sealed(Link(href: "a"))
        var status = stat()
        #expect(unsafe fstat(resource.descriptor, &status) == 0)
        // no name, and open for reading only
        #expect(status.st_nlink == 0)
        #expect(unsafe write(resource.descriptor, [9], 1) == -1)
        let shown = "/proc/self/fd/\(resource.descriptor)"
        #expect(unsafe linkat(AT_FDCWD, shown, AT_FDCWD, directory.file("stolen"), AT_SYMLINK_FOLLOW) == -1)
        if length <= AnonymousFile.memoryLimit {
            // not to be changed through the descriptor that filled it, nor through a newly opened one
            let again = unsafe Glibc.open(shown, O_RDWR | O_CLOEXEC)
            for descriptor in [file.descriptor, again] {
                #expect(unsafe pwrite(descriptor, [9], 1, 0) == -1)
                #expect(ftruncate(descriptor, 0) == -1)
            }
            if again >= 0 { close(again) }
        } else {
            // root may do it all the same
            #expect(status.st_mode & 0o777 == 0o400)
            if getuid() != 0 { #expect(unsafe Glibc.open(shown, O_RDWR | O_CLOEXEC) == -1) }
        }
        #expect(try await resource.read(0..<9) == [1, 2, 3])
        #expect(try await resource.length() == 3)
    }

    @Test(arguments: [("EBX_HANDLER", "Adobe ADEPT"), ("Adobe.PubSec", "an unknown technology")])
    func `with third-party protection is added to the shelf, restricted`(handler: String, name: String) async throws {
        var pdf = TestPDF(pages: 1, others: ["<< /Filter /\(handler) /V 1 /R 3 >>"])
        pdf.trailer = "/Encrypt 4 0 R /ID [<01> <01>]"
        let publication = try await open(directory.write("Loan.pdf", pdf.bytes))
        #expect(publication.isRestricted)
        #expect(publication.protectionName == name)
        #expect(publication.metadata.title == "Loan")
        #expect(await publication.rights.canCopy == false)
        let resource = publication.get(publication.readingOrder[0])
        await #expect(throws: ResourceError(.forbidden, "")) { try await resource.read(0..<9) }
        #expect(throws: Publication.OpeningError(.forbidden, "")) { try Navigator(publication) }
    }

    @Test func `that takes long to read is given up when the task that opens it is cancelled`() async throws {
        // without a table of its objects, which are then looked for
        var bytes = Array("%PDF-1.4\n".utf8)
        for number in 1...400_000 { bytes += "\(number) 0 obj\n<<>>\nendobj\n".utf8 }
        let path = directory.write("long.pdf", bytes + Array("trailer << /Root 1 0 R >>\n%%EOF\n".utf8))
        let opening = Task { try await open(path) }
        try await Task.sleep(for: .milliseconds(300))
        opening.cancel()
        await #expect(throws: Publication.OpeningError(.cancelled, "")) { try await opening.value }
    }

    @Test func `that is broken beyond repair is an error`() async throws {
        let path = directory.write("a.pdf", "%PDF-1.7\nnothing but words\n")
        await #expect(throws: Publication.OpeningError(.parsingFailed, "")) { try await open(path) }
    }
}
