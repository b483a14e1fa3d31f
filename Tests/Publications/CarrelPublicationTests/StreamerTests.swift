// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelPublication

/// Makes a publication of whatever has a text in it.
private struct TextParser: PublicationParser {
    let seen: Locked<[String]>

    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        seen.withLock { $0.append(format.mediaType.description) }
        guard format.fileExtension != "bin" || asset.mediaType != nil else { return nil }
        var cover = Link(href: "cover.png")
        cover.relations = ["cover"]
        let manifest = Manifest(metadata: Metadata(title: "A book"), readingOrder: [Link(href: "a%20b.txt")], resources: [cover])
        return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
    }
}

private final class TestService: ContentProtectionService {
    let isRestricted: Bool
    let name: LocalizedString?
    let credentials: String?

    init(_ name: String, isRestricted: Bool, credentials: String?) {
        self.name = LocalizedString(name)
        self.isRestricted = isRestricted
        self.credentials = credentials
    }
}

/// Opens with the word "sesame".
private struct SesameProtection: ContentProtection {
    let name: String
    let recognises: Bool
    let asked: Locked<[String]>
    var mediaType: MediaType?

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        asked.withLock { $0.append(name) }
        guard recognises else { return nil }
        var word = credentials
        var tries = 0
        while word != "sesame", let onAskCredentials, tries < 3 {
            tries += 1
            word = await onAskCredentials(Dialog(title: "Password", message: "Say it"), sender)
            if word == nil { break }
        }
        var asset = asset
        if let mediaType { asset.mediaType = mediaType }
        let (label, answer) = (name, word)
        return ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                TestService(label, isRestricted: answer != "sesame", credentials: answer == "sesame" ? answer : nil)
            }
        }
    }
}

@Suite("A streamer")
struct StreamerTests {
    private let directory = TemporaryDirectory()
    private let asked = Locked<[String]>([])
    private let seen = Locked<[String]>([])

    private func asset() async throws -> PublicationAsset {
        try await checkProcess(["mkdir", "-p", directory.file("book")])
        directory.write("book/a b.txt", "words")
        directory.write("book/cover.png", "picture")
        return PublicationAsset(path: directory.file("book"), mediaType: MediaType("application/x-book"))
    }

    private func streamer(_ protections: [any ContentProtection], onAsk: OnAskCredentialsCallback? = nil) -> Streamer {
        Streamer(
            parsers: [TextParser(seen: seen)],
            ignoresDefaultParsers: true,
            contentProtections: protections,
            onAskCredentials: onAsk
        )
    }

    private func protection(_ name: String, recognises: Bool = true) -> SesameProtection {
        SesameProtection(name: name, recognises: recognises, asked: asked)
    }

    @Test func `asks protections in their order, and none after the one that recognises its own`() async throws {
        let streamer = streamer([protection("first", recognises: false), protection("second"), protection("third")])
        let publication = try await streamer.open(asset: try await asset(), allowUserInteraction: false, credentials: "sesame")
        #expect(asked.withLock { $0 } == ["first", "second"])
        #expect(publication.isProtected)
        #expect(!publication.isRestricted)
        #expect(publication.protectionName == "second")
        #expect(publication.credentials == "sesame")
        #expect(try await publication.get("a b.txt").read(upTo: 10) == Array("words".utf8))
        #expect(await publication.rights.canCopy)
    }

    @Test func `opens what stays locked restricted: with metadata and cover, without its text`() async throws {
        let publication = try await streamer([protection("lock")]).open(asset: try await asset(), allowUserInteraction: false)
        #expect(publication.isRestricted)
        #expect(publication.metadata.title == "A book")
        #expect(try await publication.get("cover.png").read(upTo: 10) == Array("picture".utf8))
        for href in ["a%20b.txt", "./a%20b.txt", "book/../a b.txt", "other.txt"] {
            await #expect(throws: ResourceError(.forbidden, ""), "\(href)") { try await publication.get(href).read(0..<1) }
        }
        #expect(await !publication.rights.canCopy)
        #expect(await !publication.rights.print(pageCount: 1))
        #expect(publication.credentials == nil)
    }

    @Test func `asks the user only when it may, and hands on who wanted to know`() async throws {
        let asks = Locked<[String]>([])
        let onAsk: OnAskCredentialsCallback = { dialog, sender in
            asks.withLock { $0.append("\(dialog.title) \(sender as? String ?? "nobody")") }
            return asks.withLock { $0.count } < 2 ? "wrong" : "sesame"
        }
        let streamer = streamer([protection("lock")], onAsk: onAsk)
        let shelf = try await streamer.open(asset: try await asset(), allowUserInteraction: false, sender: "shelf")
        #expect(shelf.isRestricted)
        #expect(asks.withLock { $0 }.isEmpty)
        let reader = try await streamer.open(asset: try await asset(), allowUserInteraction: true, sender: "reader")
        #expect(!reader.isRestricted)
        #expect(asks.withLock { $0 } == ["Password reader", "Password reader"])
        // what is open stays as it was opened
        #expect(shelf.isRestricted)
    }

    @Test func `takes a closed dialog for no fault of the file`() async throws {
        let publication = try await streamer([protection("lock")], onAsk: { _, _ in nil })
            .open(asset: try await asset(), allowUserInteraction: true)
        #expect(publication.isRestricted)
    }

    @Test func `chooses the parser by the media type that the protection gives`() async throws {
        var lock = protection("lock")
        lock.mediaType = MediaType("application/pdf")
        _ = try await streamer([lock]).open(asset: try await asset(), allowUserInteraction: false)
        #expect(seen.withLock { $0 } == ["application/pdf"])
    }

    @Test func `lets the app change what it opens, and add services`() async throws {
        let streamer = Streamer(
            parsers: [TextParser(seen: seen)],
            ignoresDefaultParsers: true,
            onCreatePublication: { $0.manifest.metadata.title = "Changed" }
        )
        let publication = try await streamer.open(
            asset: try await asset(),
            allowUserInteraction: false,
            onCreatePublication: { builder in
                builder.manifest.metadata.subtitle = "by the app"
                builder.services.set(TestService.self) { _ in TestService("one", isRestricted: false, credentials: nil) }
                builder.services.decorate(TestService.self) { _, _ in TestService("two", isRestricted: false, credentials: nil) }
            }
        )
        #expect(publication.metadata.title == "Changed")
        #expect(publication.metadata.subtitle == "by the app")
        #expect(publication.findService(TestService.self)?.name == "two")
        #expect(publication.findServices((any ContentProtectionService).self).count == 1)
        #expect(publication.link(withHREF: "/a b.txt#x")?.href == "a%20b.txt")
        #expect(publication.links(withRelation: "cover").map(\.href) == ["cover.png"])
    }

    @Test func `says what cannot be opened, and why`() async throws {
        let streamer = streamer([])
        await #expect(throws: Publication.OpeningError(.notFound, "")) {
            try await streamer.open(asset: PublicationAsset(path: directory.file("none")), allowUserInteraction: false)
        }
        let path = directory.write("thing", [1, 2, 3])
        await #expect(throws: Publication.OpeningError(.unsupportedFormat, "")) {
            try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: false)
        }
        let broken = directory.write("broken.zip", Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 0, count: 100))
        await #expect(throws: Publication.OpeningError(.parsingFailed, "")) {
            try await streamer.open(asset: PublicationAsset(path: broken), allowUserInteraction: false)
        }
    }

    @Test func `keeps a file open while a reader needs it, and no longer`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.write("book.epub", MadeArchive.epub().bytes)
        func isOpen() -> Bool {
            var target = [CChar](repeating: 0, count: 4096)
            return (0..<4096).contains { descriptor in
                let count = unsafe readlink("/proc/self/fd/\(descriptor)", &target, target.count)
                return count > 0 && String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) == path
            }
        }
        var resource: (any Resource)?
        do {
            let publication = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: path), allowUserInteraction: false)
            resource = publication.get(publication.readingOrder[0])
            publication.close()
        }
        // existing resources stay readable
        #expect(isOpen())
        #expect(try await resource?.read(upTo: 100) == Array("<html/>".utf8))
        resource = nil
        // a thread that read from the file may still be about to let it go
        try await eventually { !isOpen() }
    }
}
