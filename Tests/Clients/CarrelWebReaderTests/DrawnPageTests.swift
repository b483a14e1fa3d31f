// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Glibc
import Testing

@testable import CarrelWebReader

/// PDF documents whose rights are limited: pages that are drawn, and words over them that are counted.
@Suite("A PDF document with limited rights in Chromium")
struct DrawnPageTests {
    private let directory = TemporaryDirectory()
    private let programs = TemporaryDirectory()
    private var folder: String { directory.file("reader") }
    private static let refusal = "This text may not be copied"

    /// Four pages, two of them in the outline.
    private static let pdf = TestPDF(
        words: ["Title of the book", "Alpha beta gamma\nsecond line here\nthird line", "Page three words", "The last page"],
        catalog: "/Outlines 12 0 R",
        others: [
            "<< /Type /Outlines /First 13 0 R /Last 14 0 R /Count 2 >>",
            "<< /Title (One) /Parent 12 0 R /Next 14 0 R /Dest [3 0 R /Fit] >>",
            "<< /Title (Three) /Parent 12 0 R /Prev 13 0 R /Dest [7 0 R /Fit] >>",
        ]
    )

    private func open(_ path: String, _ transform: Publication.Builder.Transform? = nil) async throws -> Publication {
        try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: false, onCreatePublication: transform)
    }

    private func metered(_ rights: CountedRights) async throws -> Publication {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        let path = directory.write("a.pdf", Self.pdf.bytes)
        return try await open(path, StatedProtection.adding(StatedProtection(rights: rights)))
    }

    /// Encrypted with an empty password for the user.
    private func encrypted(_ permissions: [String]) async throws -> Publication {
        let (qpdf, plain) = (try requirePeer("qpdf"), directory.write("plain.pdf", Self.pdf.bytes))
        let path = directory.file("a.pdf")
        try await checkProcess([qpdf, "--encrypt", "", "captain", "256"] + permissions + ["--", plain, path])
        return try await open(path)
    }

    private func waitForPage(_ number: Int, _ browser: Browser) async throws {
        try await browser.wait(
            until: """
                document.querySelector('.sheet img')?.alt === 'Page \(number) of 4' && document.querySelector('.sheet img').naturalWidth > 0
                  && document.getElementById('progress').textContent.startsWith('Page \(number) of 4')
                """
        )
    }

    /// Selects from the beginning of one word to the end of another.
    private func select(_ first: String, _ last: String, _ browser: Browser) async throws {
        try await browser.script(
            """
            const find = (text) => [...document.querySelectorAll('.words span')].find((one) => one.textContent.trim() === text).firstChild;
            const end = find(arguments[0][1]);
            getSelection().setBaseAndExtent(find(arguments[0][0]), 0, end, end.data.trimEnd().length);
            """,
            [.string(first), .string(last)]
        )
        try await browser.wait(until: "!document.getElementById('selection').hidden")
    }

    private func said(_ start: String, _ browser: Browser) async throws {
        try await browser.wait(until: "document.getElementById('said').textContent.startsWith('\(start)')")
        try await browser.script("document.getElementById('said').textContent = ''")
    }

    private let control = ["\u{E009}"]

    @Test func `that forbids copying and printing is drawn, and nothing of it is copied or on paper`() async throws {
        try await ReaderPage.withBrowser { browser in
            let publication = try await encrypted(["--print=none", "--extract=n"])
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await waitForPage(1, browser)
                #expect(try await browser.script("return document.documentElement.dataset.kind").string == "drawn")
                #expect(try await browser.script("return document.querySelectorAll('iframe, embed, object').length").int == 0)
                try await browser.grant("clipboard-read")
                try await browser.script("return navigator.clipboard.writeText('before')")
                try await select("Title", "book", browser)
                try await browser.press("c", holding: control)
                try await said(Self.refusal, browser)
                #expect(try await browser.script("return navigator.clipboard.readText()").string == "before")
                let areOff = "return ['selection-copy', 'open-print'].map((id) => document.getElementById(id).disabled)"
                #expect(try await browser.script(areOff) == [true, true])
                try await browser.press("p", holding: control)
                try await said("This publication may not be printed", browser)
                #expect(try await paper(browser).isEmpty == false)
                #expect(try await picturesOnPaper() == 0)
            }
        }
    }

    /// Prints into a file, which `picturesOnPaper` looks at. Returns the words on it.
    private func paper(_ browser: Browser) async throws -> String {
        directory.write("paper.pdf", try await browser.printed(width: 700, height: 1000))
        let words = try await checkProcess([try requirePeer("pdftotext"), directory.file("paper.pdf"), "-"])
        return words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func picturesOnPaper() async throws -> Int {
        let images = try requirePeer("pdfimages")
        let list = try await checkProcess([images, "-list", directory.file("paper.pdf")])
        return list.split(separator: "\n").count { $0.contains(" image ") }
    }

    @Test func `is copied from as long as its rights last`() async throws {
        let rights = CountedRights(characters: 40, pages: 1)
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await metered(rights), browser, folder: folder) { page in
                try await browser.grant("clipboard-read")
                try await browser.click("#later")
                try await waitForPage(2, browser)
                try await select("Alpha", "beta", browser)
                try await browser.press("c", holding: control)
                try await said("Copied.", browser)
                #expect(try await browser.script("return navigator.clipboard.readText()").string == "Alpha beta")
                #expect(rights.charactersLeft == 30)
                // lines stay lines, and the button does the same
                try await select("gamma", "line", browser)
                try await browser.click("#selection-copy")
                try await said("Copied.", browser)
                let copied = try #require(try await browser.script("return navigator.clipboard.readText()").string)
                #expect(copied == "gamma\nsecond line" && rights.charactersLeft == 30 - copied.unicodeScalars.count)
                try await select("second", "third", browser)
                try await browser.press("c", holding: control)
                try await said(Self.refusal, browser)
                #expect(try await browser.script("return navigator.clipboard.readText()").string == copied)
                #expect(rights.charactersLeft == 30 - copied.unicodeScalars.count)
            }
        }
    }

    @Test func `is printed page by page once it is counted, and not before, after, or once all is used up`() async throws {
        let rights = CountedRights(characters: 40, pages: 1)
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await metered(rights), browser, folder: folder) { page in
                try await waitForPage(1, browser)
                try await browser.script("window.printed = 0; window.print = () => { window.printed++; };")
                let notice = "Pages are printed with the reader’s own button."
                #expect(try await paper(browser).contains(notice))
                #expect(try await picturesOnPaper() == 0)
                func askToPrint() async throws {
                    try await browser.click("#open-print")
                    try await browser.wait(until: "document.getElementById('print-sheet').open")
                    #expect(try await browser.text("#print-count") == "The whole page is printed. It counts as one page.")
                    try await browser.click("#print-form button[type=submit]")
                }
                try await askToPrint()
                try await browser.wait(until: "window.printed === 1")
                #expect(rights.pagesLeft == 0)
                // a picture without words that could be taken from the paper
                #expect(try await !paper(browser).contains("Title"))
                #expect(try await picturesOnPaper() == 1)
                try await browser.wait(until: "!document.documentElement.classList.contains('may-print')")
                #expect(try await paper(browser).contains(notice))
                try await askToPrint()
                try await said("This page may not be printed", browser)
                #expect(try await picturesOnPaper() == 0)
                #expect(try await browser.script("return window.printed").int == 1)
            }
        }
    }

    @Test func `is turned by keys, buttons and contents, and opens where it was left`() async throws {
        let rights = CountedRights(characters: 1, pages: 1)
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.notePlaces(browser)
            try await ReaderPage.with(try await metered(rights), browser, folder: folder) { page in
                try await waitForPage(1, browser)
                try await browser.press(BrowserKey.right)
                try await waitForPage(2, browser)
                try await browser.click("#later")
                try await waitForPage(3, browser)
                try await browser.click("#later")
                try await waitForPage(4, browser)
                try await browser.click("#later")
                try await said("This is the end.", browser)
                try await browser.click("#earlier")
                try await waitForPage(3, browser)
                try await browser.click("#earlier")
                try await waitForPage(2, browser)
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(2) button")
                try await waitForPage(3, browser)
                #expect(
                    try await browser.script("return document.querySelector('.words').textContent.trim()") == "Page three words"
                )
                try await page.waitForPlace { $0["locations"]?["fragments"]?.array?.first == "page=3" }
                let place = try #require(try await page.record()["place"])
                #expect(place["locations"]?["progression"]?.double == 0.5 && place["type"]?.string == "application/pdf")
                try await browser.reload()
                try await browser.wait(until: ReaderPage.isReady)
                try await waitForPage(3, browser)
                #expect(try await page.sentPlaces().isEmpty)
            }
        }
    }

    @Test func `has its words where they are drawn, in any size of window and page`() async throws {
        let rights = CountedRights(characters: 1, pages: 1)
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await metered(rights), browser, folder: folder) { page in
                try await browser.click("#later")
                try await waitForPage(2, browser)
                func check(fits: Bool) async throws {
                    let found = try await browser.script(
                        """
                        const view = document.getElementById('page'), sheet = document.querySelector('.sheet').getBoundingClientRect();
                        const box = document.querySelector('.words span').getBoundingClientRect();
                        return [(box.left - sheet.left) / sheet.width, (box.top + box.height / 2 - sheet.top) / sheet.height, sheet.width / sheet.height,
                          view.scrollWidth <= view.clientWidth && view.scrollHeight <= view.clientHeight];
                        """
                    )
                    let numbers = (found.array ?? []).compactMap(\.double)
                    try #require(numbers.count == 3)
                    // 20 of 200 points from the left; letters of 12 points stand 250 of 300 above the edge
                    #expect(abs(numbers[0] - 0.1) < 0.005 && abs(numbers[1] - 0.156) < 0.005 && abs(numbers[2] - 2.0 / 3) < 0.01)
                    #expect(found.array?.last?.bool == fits)
                }
                try await check(fits: true)
                let before = try #require(try await browser.script("return document.querySelector('.sheet').clientWidth").int)
                for _ in 1...3 { try await browser.press("+") }
                try await browser.wait(until: "document.querySelector('.sheet').clientWidth === Math.round(\(before) * 1.5)")
                try await check(fits: false)
                // more of the page before the next one
                try await browser.press(BrowserKey.pageDown)
                try await browser.wait(until: "document.getElementById('page').scrollTop > 100")
                #expect(try await browser.text("#progress").hasPrefix("Page 2 of 4"))
                for _ in 1...3 { try await browser.press("-") }
                try await browser.wait(until: "document.querySelector('.sheet').clientWidth === \(before)")
                for (width, height) in [(360, 640), (1440, 900)] {
                    try await browser.setWindowSize(width: width, height: height)
                    try await browser.wait(until: "innerWidth === \(width)")
                    try await browser.wait(
                        until:
                            "Math.abs(document.querySelector('.sheet').clientHeight - document.getElementById('stage').clientHeight) < 60"
                    )
                    try await check(fits: true)
                }
            }
        }
    }

    @Test func `continues in the next document of a package, and returns to the last page of the previous one`() async throws {
        let zip = try requirePeer("zip")
        try await checkProcess(["mkdir", "package"], directory: directory.path)
        directory.write("package/a.pdf", Self.pdf.bytes)
        directory.write("package/b.pdf", TestPDF(words: ["Another", "And its end"]).bytes)
        directory.write(
            "package/manifest.json",
            """
            {"metadata": {"title": "Two", "conformsTo": "https://readium.org/webpub-manifest/profiles/pdf"}, "readingOrder": [
              {"href": "a.pdf", "type": "application/pdf"}, {"href": "b.pdf", "type": "application/pdf"}]}
            """
        )
        try await checkProcess([zip, "-qXr", "../a.webpub", "."], directory: directory.file("package"))
        let protection = StatedProtection(rights: CountedRights(characters: 1, pages: 1))
        let publication = try await open(directory.file("a.webpub"), StatedProtection.adding(protection))
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                for number in 1...4 {
                    try await waitForPage(number, browser)
                    try await browser.click("#later")
                }
                let words = "document.querySelector('.words')?.textContent.trim()"
                try await browser.wait(until: "\(words) === 'Another'")
                #expect(try await browser.text("#progress").hasPrefix("Page 1 of 2"))
                try await page.waitForPlace {
                    $0["href"]?.string == "b.pdf" && $0["locations"]?["fragments"]?.array?.first == "page=1"
                }
                try await browser.click("#earlier")
                try await waitForPage(4, browser)
                #expect(try await browser.script("return \(words)") == "The last page")
            }
        }
    }

    @Test(arguments: [false, true])
    func `whose rights are all there stays in the viewer of the browser`(isEncrypted: Bool) async throws {
        try await ReaderPage.withBrowser { browser in
            let publication =
                isEncrypted ? try await encrypted([]) : try await open(directory.write("a.pdf", Self.pdf.bytes))
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                #expect(try await browser.script("return document.documentElement.dataset.kind").string == "pdf")
                #expect(try await browser.script("return document.getElementById('page').localName").string == "iframe")
                let status = try await browser.asyncScript(
                    "fetch('drawn?href=a.pdf').then((answer) => arguments[0](answer.status))"
                )
                #expect(status == 404)
            }
        }
    }

    @Test func `says what to install where nothing draws it`() async throws {
        let rights = CountedRights(characters: 1, pages: 1)
        try await ReaderPage.withBrowser { browser in
            let poppler = Poppler(path: directory.path)
            try await ReaderPage.with(try await metered(rights), browser, folder: folder, poppler: poppler) { page in
                #expect(try await browser.text("#page").contains("poppler-utils"))
                let answer = try await HTTPClient().send(ClientRequest(.get, page.address + "drawn?href=a.pdf"))
                #expect(answer.status == .serviceUnavailable)
                #expect(answer.headers["Content-Type"] == "application/problem+json")
            }
        }
    }

    /// Programs in the place of Poppler's own, by name, as scripts of a shell.
    private func stand(_ scripts: [String: String]) -> Poppler {
        for (name, script) in scripts {
            unsafe chmod(programs.write(name, Array("#!/bin/sh\n\(script)\n".utf8)), 0o755)
        }
        return Poppler(path: "\(programs.path):\(Poppler.path)")
    }

    @Test func `has no keys for what it has not`() async throws {
        try await ReaderPage.withBrowser { browser in
            let publication = try await metered(CountedRights(characters: 1, pages: 1))
            try await ReaderPage.with(publication, browser, folder: folder) { _ in
                try await waitForPage(1, browser)
                for key in ["s", "/", "n"] { try await browser.press(key) }
                let open = try await browser.script("return document.querySelectorAll('dialog[open]').length").int
                #expect(open == 0)
                try await browser.press("?")
                try await browser.wait(until: "document.getElementById('help-sheet').open")
                let rows = "[...document.querySelectorAll('#help-keys tr')].filter((row) => row.checkVisibility())"
                let words = try await browser.script("return \(rows).map((row) => row.cells[1].textContent).join()").string ?? ""
                #expect(words.contains("Contents") && !words.contains("Search") && !words.contains("notes"))
            }
        }
    }

    @Test func `says why a page cannot be drawn, after one try`() async throws {
        try await ReaderPage.withBrowser { browser in
            let publication = try await metered(CountedRights(characters: 1, pages: 1))
            let poppler = stand(["pdftoppm": "exit 1"])
            try await ReaderPage.with(publication, browser, folder: folder, poppler: poppler) { _ in
                let text = try await browser.text("#page")
                #expect(text == "This page cannot be shown: page 1 cannot be drawn.")
                let requests =
                    "return performance.getEntriesByType('resource').filter((one) => one.name.includes('drawn/picture')).length"
                let count = try await browser.script(requests).int
                #expect(count == 1)
            }
        }
    }

    @Test func `shows a page whose words cannot be read, and says so`() async throws {
        try await ReaderPage.withBrowser { browser in
            let publication = try await metered(CountedRights(characters: 1, pages: 1))
            let poppler = stand(["pdftotext": "exit 1"])
            try await ReaderPage.with(publication, browser, folder: folder, poppler: poppler) { _ in
                try await waitForPage(1, browser)
                try await said("The words of page 1 cannot be read", browser)
                let words = try await browser.script("return document.querySelectorAll('.words span').length").int
                #expect(words == 0)
            }
        }
    }

    @Test func `is drawn no longer when the page was turned meanwhile`() async throws {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        // fills a large page again and again
        var slow = TestPDF(words: ["Words"], page: "/MediaBox [0 0 300 300]")
        let content = String(repeating: "0 0 300 300 re f\n", count: 200_000)
        slow.objects[3] = "<< /Length \(content.utf8.count) >>\nstream\n\(content)\nendstream"
        let protection = StatedProtection(rights: CountedRights(characters: 1, pages: 1))
        let publication = try await open(directory.write("a.pdf", slow.bytes), StatedProtection.adding(protection))
        let reader = try await WebReader(publication, folder: folder, poppler: Poppler())
        let address = try reader.start()
        let client = HTTPClient()
        func get(_ path: String) async throws -> HTTPStatus {
            try await client.send(ClientRequest(.get, address + "drawn/\(path)&href=a.pdf&page=1")).status
        }
        // as many as are drawn at a time
        let pictures = (1...2).map { _ in Task { try await get("picture?size=2700") } }
        try await Task.sleep(for: .seconds(1))
        for picture in pictures { picture.cancel() }
        for picture in pictures { await #expect(throws: (any Error).self) { try await picture.value } }
        let start = ContinuousClock.now
        let status = try await get("words?")
        #expect(status == .ok && ContinuousClock.now - start < .seconds(8))
        await reader.stop()
        publication.close()
    }

    @Test func `serves rendered pages by page and size to the reader's page, and never the document itself`() async throws {
        let client = HTTPClient()
        let publication = try await metered(CountedRights(characters: 1, pages: 1))
        let reader = try await WebReader(publication, folder: folder, poppler: Poppler())
        let address = try reader.start()
        func get(_ path: String, _ headers: HTTPFields = [:]) async throws -> (
            status: HTTPStatus, code: String?, response: ClientResponse
        ) {
            let response = try await client.send(ClientRequest(.get, path, headers: headers))
            let bytes = response.body
            let isProblem = response.headers["Content-Type"] == "application/problem+json"
            return (response.status, isProblem ? try JSON.parse(bytes.rawSpan)["code"]?.string : nil, response)
        }
        let beginning = try await get(address + "book").response.body
        let book = try JSON.parse(beginning.rawSpan)
        let origin = "http://\(address.split(separator: "/")[1])"
        for base in ["pages", "publication", "documents"] {
            for destination in ["empty", "iframe"] {
                let url = origin + (try #require(book[base]?.string)) + "a.pdf"
                let answer = try await get(url, ["Sec-Fetch-Dest": destination])
                #expect(answer.status == .forbidden, "\(base)")
                #expect(answer.code == "reader.drawn" || (base == "publication" && destination == "iframe"), "\(base)")
            }
        }
        let picture = try await get(address + "drawn/picture?href=a.pdf&page=4&size=800", ["Sec-Fetch-Dest": "image"])
        #expect(picture.status == .ok && picture.response.headers["Content-Type"] == "image/png")
        #expect(picture.response.headers["Cache-Control"] == "no-store")
        let window = try await get(address + "drawn/picture?href=a.pdf&page=4&size=800", ["Sec-Fetch-Dest": "document"])
        #expect(window.status == .forbidden)
        let words = try await get(address + "drawn/words?href=a.pdf&page=4").response
        #expect(String(decoding: words.body, as: UTF8.self).contains(#"["The",20"#))
        #expect(words.headers["Cache-Control"] == "no-store")
        for (query, status) in [
            ("picture?href=a.pdf&page=5&size=800", HTTPStatus.notFound), ("picture?href=a.pdf&page=0&size=800", .badRequest),
            ("picture?href=a.pdf&page=1&size=801", .badRequest), ("picture?href=a.pdf&page=1&size=99999", .badRequest),
            ("picture?href=a.pdf&page=1", .badRequest), ("picture?page=1&size=800", .badRequest),
            ("words?href=a.pdf&page=5", .notFound), ("words?href=a.pdf&page=-1", .badRequest),
            ("words?href=none.pdf&page=1", .notFound), ("words?href=..%2F..%2Fetc%2Fpasswd&page=1", .badRequest),
        ] {
            let answer = try await get(address + "drawn/" + query)
            #expect(answer.status == status, "\(query)")
        }
        let wrong = try await get(address.dropLast(5) + "AAAA/drawn?href=a.pdf")
        #expect(wrong.status == .forbidden)
        let stranger = try await get(address + "drawn/words?href=a.pdf&page=1", ["Sec-Fetch-Site": "cross-site"])
        #expect(stranger.status == .forbidden)
        await reader.stop()
        // a navigator of an app's own is given the document
        let server = PublicationServer(publication)
        let raw = try await get(try server.start().publication + "a.pdf")
        #expect(raw.status == .ok && raw.response.body.starts(with: "%PDF-".utf8))
        await server.stop()
        publication.close()
    }

    /// A document's name and its link's properties come from the untrusted file.
    @Test func `is served to no client by another name or as a cover`() async throws {
        let client = HTTPClient()
        let zip = try requirePeer("zip")
        let single = directory.write("book", Self.pdf.bytes)
        try await checkProcess(["mkdir", "disguised"], directory: directory.path)
        for name in ["a.pdf", "b.bin", "c.png"] { directory.write("disguised/\(name)", Self.pdf.bytes) }
        directory.write(
            "disguised/manifest.json",
            """
            {"metadata": {"title": "Three", "conformsTo": "https://readium.org/webpub-manifest/profiles/pdf"}, "readingOrder": [
              {"href": "a.pdf", "type": "application/pdf"}], "resources": [
              {"href": "b.bin", "type": "application/octet-stream"}, {"href": "c.png", "type": "image/png", "rel": "cover"}]}
            """
        )
        try await checkProcess([zip, "-qXr", "../disguised.webpub", "."], directory: directory.file("disguised"))
        for (path, names) in [(single, ["book"]), (directory.file("disguised.webpub"), ["b.bin", "c.png", "~readium/cover"])] {
            let protection = StatedProtection(rights: CountedRights(characters: 1, pages: 1))
            let publication = try await open(path, StatedProtection.adding(protection))
            let reader = try await WebReader(publication, folder: folder, poppler: Poppler())
            let address = try reader.start()
            let book = try JSON.parse(try await client.send(ClientRequest(.get, address + "book")).body.rawSpan)
            let origin = "http://\(address.split(separator: "/")[1])"
            for base in ["pages", "publication", "documents"] {
                for name in names where !(name.hasPrefix("~") && base != "publication") {
                    let url = origin + (try #require(book[base]?.string)) + name
                    let answer = try await client.send(ClientRequest(.get, url, headers: ["Sec-Fetch-Dest": "empty"]))
                    #expect(answer.status == .forbidden, "\(base) \(name)")
                    #expect(!String(decoding: answer.body, as: UTF8.self).contains("%PDF-"), "\(base) \(name)")
                }
            }
            let words = address + "drawn/words?href=\(names[0])&page=1"
            #expect(
                try await client.send(ClientRequest(.get, words, headers: ["Sec-Fetch-Dest": "document"])).status == .forbidden
            )
            await reader.stop()
            publication.close()
        }
    }
}
