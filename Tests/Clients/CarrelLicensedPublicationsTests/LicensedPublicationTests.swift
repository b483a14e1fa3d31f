// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelLicensedPublications
import CarrelMP4
import CarrelPlayer
import CarrelPlayerTesting
import CarrelPublication
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

struct `A publication in a DCF` {
    @Test(arguments: [DCFCipher.cbc, .counter])
    func `costs no play to open, and one when its content is first read`(cipher: DCFCipher) async throws {
        let book = try await BookWorld()
        let license = try await book.license()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub(), cipher: cipher))
        let warnings = WarningList()
        let publication = try await book.open(PublicationAsset(path: path), warnings: warnings)
        #expect(publication.protectionName == "Carrel" && !publication.isRestricted && publication.format == .epub)
        #expect(publication.metadata.title.description == "A long book" && publication.readingOrder.count == 3)
        #expect(publication.tableOfContents.count == 3 && warnings.warnings.isEmpty)
        _ = try await publication.cover()
        _ = try await publication.positionCountsByReadingOrder()
        #expect(try await book.plays(license) == 0)
        let first = try await publication.get(publication.readingOrder[0]).read(upTo: 1 << 20)
        #expect(String(decoding: first, as: UTF8.self).contains("<html"))
        #expect(try await book.plays(license) == 1)
        for link in publication.readingOrder { _ = try await publication.get(link).read(upTo: 1 << 20) }
        #expect(try await book.plays(license) == 1)
        publication.close()
        let again = try await book.open(path)
        _ = try await again.get(again.readingOrder[1]).read(0..<10)
        #expect(try await book.plays(license) == 2)
        again.close()
    }

    @Test func `may be a PDF, which its bytes determine`() async throws {
        let book = try await BookWorld()
        let license = try await book.license()
        let path = book.write("book.epub", try BookWorld.dcf(BookWorld.pdf, type: "application/epub+zip"))
        let publication = try await book.open(path)
        #expect(publication.format == .pdf && publication.metadata.numberOfPages == 2)
        _ = try await publication.cover()
        #expect(try await book.plays(license) == 0)
        #expect(try await publication.get(publication.readingOrder[0]).read(upTo: 1 << 20) == BookWorld.pdf)
        #expect(try await book.plays(license) == 1)
        publication.close()
    }

    @Test func `is restricted without a license, and says the title and why`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let publication = try await book.open(path)
        #expect(publication.isRestricted && publication.protectionName == "Carrel" && publication.format == .dcf)
        #expect(publication.metadata.title.description == "The title outside" && publication.readingOrder.isEmpty)
        #expect(publication.protectionErrorMessage == "there is no license for it on this device")
        let error = await failure { _ = try await publication.get("book.dcf").read(upTo: 100) }
        #expect(error?.code == .forbidden)
        #expect(await publication.rights.canCopy == false)
    }

    @Test func `is restricted without a player, and with a locked vault`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let protection = LicensedContentProtection { () async throws -> PlayerEngine in
            throw PlayerError(.vault, "the vault is locked")
        }
        let publication = try await Streamer(contentProtections: [protection]).open(
            asset: PublicationAsset(path: path),
            allowUserInteraction: false
        )
        #expect(publication.isRestricted && publication.metadata.title.description == "The title outside")
        #expect(publication.protectionErrorMessage?.contains("the vault is locked") == true)
    }

    @Test func `redeems the token that is given, once`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let refused = try await book.open(path, credentials: "<no token>")
        #expect(refused.isRestricted)
        let publication = try await book.open(path, credentials: try await book.token())
        #expect(!publication.isRestricted && publication.readingOrder.count == 3)
        #expect(try await book.engine.licenses().count() == 1)
        publication.close()
        #expect(try await book.open(path).isRestricted == false)
    }

    @Test func `is restricted when the license keeps the default output rule, or ended`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let license = try await book.license { $0.extensions = [] }
        #expect(try await book.open(path).protectionErrorMessage?.contains("output-not-allowed") == true)
        try await book.engine.licenses().remove(license)
        let end = book.world.clock.now.wholeSecond + .seconds(86_400)
        try await book.license { $0.rights = .rental(periodEnd: end, playDuration: 3600) }
        let open = try await book.open(path)
        #expect(!open.isRestricted)
        open.close()
        book.world.wait(.seconds(90_000))
        #expect(try await book.open(path).protectionErrorMessage?.contains("expired-storage") == true)
    }

    @Test(arguments: [DCFCipher.cbc, .counter])
    func `fails where a block was changed, and stays readable elsewhere`(cipher: DCFCipher) async throws {
        let book = try await BookWorld()
        try await book.license()
        var bytes = try BookWorld.dcf(try await BookWorld.epub(chapters: 140), cipher: cipher)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        let size = object.payload.encryptedLength
        try #require(size > 5 << 16)
        bytes[Int(object.payload.start + size / 2)] ^= 1
        let publication = try await book.open(book.write("book.dcf", bytes))
        var codes: [ResourceError.Code?] = []
        for link in publication.readingOrder {
            let error = await failure { _ = try await publication.get(link).read(upTo: 1 << 20) }
            codes.append(error?.code)
        }
        #expect(codes.contains(.decryption) && codes.contains(nil) && Set(codes.compactMap(\.self)) == [.decryption])
        publication.close()
    }

    @Test func `of a title needs tags, and others warn without them`() async throws {
        let book = try await BookWorld()
        let bytes = try await BookWorld.epub()
        try await book.license()
        let warnings = WarningList()
        let path = book.write("book.dcf", try BookWorld.dcf(bytes, isTagged: false))
        let publication = try await book.open(PublicationAsset(path: path), warnings: warnings)
        #expect(!publication.isRestricted && warnings.warnings.contains { $0.message.contains("no tags") })
        publication.close()
        // a license of a title, for a file that names its key alone
        let title = "urn:carrel:title:9d3b6a7e"
        let kid = CarrelRights.KeyID(label: "title")
        try await book.license(content: title, kid: kid)
        for content in [title, "cid:\(kid.hex)"] {
            let stripped = book.write("title.dcf", try BookWorld.dcf(bytes, content: content, isTagged: false))
            let error = await #expect(throws: Publication.OpeningError.self) { try await book.open(stripped) }
            #expect(error?.message.contains("no tags") == true)
            let whole = try await book.open(book.write("title.dcf", try BookWorld.dcf(bytes, content: content)))
            #expect(!whole.isRestricted)
            whole.close()
        }
        let clear = book.write("title.dcf", try BookWorld.dcf(bytes, content: title, cipher: .none))
        await #expect(throws: Publication.OpeningError.self) { try await book.open(clear) }
    }

    @Test func `counts copies and prints in the license, whatever is removed`() async throws {
        let book = try await BookWorld()
        let token = try await book.token {
            $0.conditions.copyCharacters = 10
            $0.conditions.printPages = 2
        }
        let license = try await book.engine.process(token).license
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let publication = try await book.open(path)
        let rights = publication.rights
        #expect(!rights.isUnlimited && publication.withholdsDocuments)
        #expect(await rights.copy("four", requestID: "a"))
        #expect(await rights.copy("four", requestID: "a"))
        #expect(await !rights.copy("fours", requestID: "a"))
        #expect(try await rights.remaining(.copy) == 6)
        #expect(await !rights.copy("seven!!", requestID: nil))
        #expect(await rights.print(pageCount: 2, requestID: nil))
        #expect(await !rights.canPrint)
        publication.close()
        try await book.engine.licenses().remove(license)
        try await book.engine.licenses().vacuum()
        #expect(try await book.engine.process(token).license == license)
        let again = try await book.open(path)
        #expect(try await again.rights.remaining(.copy) == 6)
        #expect(try await again.rights.remaining(.print) == 0)
        again.close()
    }

    @Test func `is not exported against its license, and its watermark must be shown`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        let license = try await book.license {
            $0.conditions.forbidsExport = true
            $0.conditions.watermark = "order 4711"
        }
        let publication = try await book.open(path)
        #expect(await !publication.allowsExport())
        #expect(publication.watermark == "order 4711" && publication.withholdsDocuments)
        publication.close()
        let restricted = try await book.open(PublicationAsset(path: path), obligations: [])
        #expect(restricted.protectionErrorMessage?.contains("unsupported-critical-obligation") == true)
        try await book.engine.licenses().remove(license)
        try await book.license(kid: CarrelRights.KeyID(label: "other"))
        let free = try await book.open(path)
        #expect(await free.allowsExport())
        #expect(free.watermark == nil)
        free.close()
    }

    @Test func `on a server is read by ranges, with two requests more than the clear file at most`() async throws {
        let book = try await BookWorld()
        try await book.license()
        let clear = try await BookWorld.epub(chapters: 40)
        let server = try BookServer(["clear.epub": clear, "book.dcf": try BookWorld.dcf(clear)])
        func requests(_ name: String) async throws -> Int {
            let publication = try await book.open(PublicationAsset(url: "\(server.url)/\(name)"))
            #expect(publication.readingOrder.count == 40)
            for link in publication.readingOrder.prefix(10) { _ = try await publication.get(link).read(upTo: 1 << 20) }
            publication.close()
            return server.take()
        }
        let (plain, protected) = (try await requests("clear.epub"), try await requests("book.dcf"))
        #expect(protected <= plain + 2, "\(protected) requests, and \(plain) for the clear file")
        await server.stop()
    }
}
