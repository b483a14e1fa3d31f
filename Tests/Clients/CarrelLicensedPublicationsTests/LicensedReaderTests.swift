// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelPlayer
import CarrelPlayerTesting
import CarrelPublication
import CarrelReader
import CarrelRights
import CarrelTesting
import CarrelTokens
import CarrelWebReader
import Testing

@Suite("A licensed book in Chromium", .serialized)
struct LicensedReaderTests {
    /// Shows a publication in a browser until `body` returns.
    private func show(
        _ publication: Publication,
        _ options: BrowserOptions = BrowserOptions(),
        _ body: (Browser) async throws -> Void
    ) async throws {
        let directory = TemporaryDirectory()
        let reader = try await WebReader(publication, folder: directory.file("notes"))
        let address = try reader.start()
        let browser = try await Browser.start(.chromium, options)
        do {
            try await browser.setWindowSize(width: 900, height: 760)
            try await browser.open(address)
            try await browser.wait(until: "document.documentElement.dataset.state === 'ready'")
            try await body(browser)
        } catch {
            await browser.close()
            await reader.stop()
            throw error
        }
        await browser.close()
        await reader.stop()
        publication.close()
    }

    private static let isCovered =
        "document.documentElement.dataset.state === 'ended' && !document.getElementById('cover').hidden"

    @Test(arguments: ["EPUB", "PDF"])
    func `is shown with its watermark, and covered when the license ends`(kind: String) async throws {
        if kind == "PDF" { _ = try requirePeer("pdftoppm") }
        let book = try await BookWorld()
        let clear = kind == "PDF" ? BookWorld.pdf : try await BookWorld.epub()
        let path = book.write("book.dcf", try BookWorld.dcf(clear))
        let license = try await book.license { $0.conditions.watermark = "order 4711" }
        try await show(try await book.open(path)) { browser in
            let mark = "document.querySelector('#stage > .watermark:last-child > span')?.textContent"
            #expect(try await browser.script("return \(mark)").string == "order 4711")
            #expect(try await browser.has(kind == "PDF" ? "#stage .sheet" : "#stage iframe"))
            #expect(try await browser.script("return \(Self.isCovered)").bool == false)
            try await book.engine.licenses().remove(license)
            try await browser.wait(until: Self.isCovered, timeout: .seconds(4))
            #expect(try await browser.text("#cover-reason") == "The license was removed.")
            #expect(try await browser.has("#stage iframe") == false)
            #expect(try await browser.has("#stage .sheet") == false)
            #expect(try await browser.script("return document.querySelector('.reader-main').inert").bool == true)
        }
    }

    @Test(arguments: ["EPUB", "PDF"])
    func `is read and copied, and never printed, under a license that forbids prints alone`(kind: String) async throws {
        let pdftotext = try requirePeer("pdftotext")
        if kind == "PDF" { _ = try requirePeer("pdftoppm") }
        let book = try await BookWorld()
        let clear = kind == "PDF" ? BookWorld.pdf : try await BookWorld.epub()
        let path = book.write("book.dcf", try BookWorld.dcf(clear))
        let license = try await book.license()
        let data = try #require(try await book.engine.licenses().license(license)?.data)
        try await book.engine.addLicense(try await book.world.reissued(data) { $0.add(.noPrint, [:]) })
        let publication = try await book.open(path)
        #expect(await publication.rights.canCopy)
        #expect(await !publication.rights.canPrint)
        #expect(try await publication.rights.remaining(.copy) == nil)
        #expect(try await publication.rights.remaining(.print) == 0)
        var options = BrowserOptions()
        options.keepsFramesInProcess = true
        try await show(publication, options) { browser in
            #expect(try await browser.has(kind == "PDF" ? "#stage .sheet" : "#stage iframe"))
            #expect(try await browser.script("return document.getElementById('open-print').disabled").bool == true)
            // the browser's own command has the notice alone on paper
            let paper = book.world.directory.write("paper.pdf", try await browser.printed(width: 700, height: 1000))
            let words = try await checkProcess([pdftotext, "-layout", paper, "-"])
            #expect(
                words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                    == "Pages are printed with the reader’s own button."
            )
            // a button that a reader enables in the developer tools prints nothing
            let enable = "document.getElementById('open-print').disabled = false; window.print = () => { window.printed = true; }"
            try await browser.script(enable)
            try await browser.click("#open-print")
            let isSaid = "document.getElementById('said').textContent === 'This publication may not be printed.'"
            try await browser.wait(until: isSaid)
            #expect(try await browser.script("return window.printed === true").bool == false)
            #expect(await !publication.rights.print(pageCount: 1, requestID: nil))
            #expect(await publication.rights.copy("as much as they like", requestID: nil))
        }
    }

    @Test func `is covered by the entry, if the license of the entry on the screen ends`() async throws {
        let book = try await BookWorld()
        let entries = ["b", "c"].map { EntryBook.Entry(name: "\($0).xhtml", content: "cid:\($0)") }
        let path = try EntryBook.write(entries, book)
        let license = try await book.license(content: "cid:b", kid: KeyID(label: "b"))
        try await book.license(content: "cid:c", kid: KeyID(label: "c"))
        try await show(try await book.open(path)) { browser in
            func turn(to name: String, by button: String = "later") async throws {
                let isShown = "(document.querySelector('#stage iframe')?.src ?? '').endsWith('\(name)')"
                try await browser.wait(until: "\(isShown) || (document.getElementById('\(button)').click(), false)")
                try await browser.wait(until: "document.documentElement.dataset.state === 'ready'")
            }
            try await turn(to: "b.xhtml")
            try await book.engine.licenses().remove(license)
            let cover = "document.querySelector('#stage .part-cover p')?.textContent === 'The license was removed.'"
            try await browser.wait(until: cover, timeout: .seconds(4))
            #expect(try await browser.has("#stage iframe") == false)
            #expect(try await browser.script("return document.querySelector('.reader-main').inert").bool == false)
            #expect(try await browser.script("return \(Self.isCovered)").bool == false)
            // the reader turns to what can be read
            try await turn(to: "c.xhtml")
            try await browser.wait(until: "!document.querySelector('#stage .part-cover')", timeout: .seconds(4))
            #expect(try await browser.has("#stage iframe"))
            // and back, when there is another license
            try await book.license(content: "cid:b", kid: KeyID(label: "b"))
            try await turn(to: "b.xhtml", by: "earlier")
            try await browser.wait(until: "!document.querySelector('#stage .part-cover')", timeout: .seconds(4))
            #expect(try await browser.has("#stage iframe"))
        }
    }

    @Test(arguments: ["EPUB", "PDF"])
    func `is refused without a license`(kind: String) async throws {
        let book = try await BookWorld()
        let clear = kind == "PDF" ? BookWorld.pdf : try await BookWorld.epub()
        let publication = try await book.open(book.write("book.dcf", try BookWorld.dcf(clear)))
        let directory = TemporaryDirectory()
        let error = await #expect(throws: ReaderError.self) { try await WebReader(publication, folder: directory.file("notes")) }
        #expect(error?.code == .restricted)
    }
}
