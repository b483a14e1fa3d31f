// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

/// Actions of readers and their effects: zoom, hasty searches, progress.
@Suite("A reader in a browser")
struct ReaderUseTests {
    private let directory = TemporaryDirectory()
    private var folder: String { directory.file("reader") }

    @Test(arguments: BrowserKind.allCases)
    func `zooms by Ctrl and the wheel, which turn no page`(kind: BrowserKind) async throws {
        try await ReaderPage.withBrowser(kind: kind) { browser in
            let publication = try await TestBook.sentences(chapters: 2, paragraphs: 30).open()
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await page.waitInDocument(until: "document.body.innerText.startsWith('Chapter 1')")
                let wheels = """
                    window.wheels = []; addEventListener('wheel', (event) => window.wheels.push([event.ctrlKey, event.defaultPrevented]));
                    """
                _ = try await page.inDocument(wheels)
                for _ in 0..<2 { try await browser.wheel(120, at: (500, 400), holding: [BrowserKey.control]) }
                try await page.waitInDocument(until: "window.wheels.length === 2")
                #expect(
                    try await page.inDocument("return window.wheels") == [[true, false], [true, false]],
                    "the browser may zoom"
                )
                // Firefox does zoom, and has other pages then
                #expect(try await browser.text("#progress").hasPrefix("Page 1 of"))
                try await Task.sleep(for: .milliseconds(300))
                try await browser.wheel(120, at: (500, 400))
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 2 of')")
            }
        }
    }

    @Test func `sees what was looked for last, though an older answer comes later, or fails`() async throws {
        try await ReaderPage.withBrowser { browser in
            // the first search is slow, and hears of nothing that ends it; the second fails late
            try await browser.addStartScript(
                """
                if (self === top) {
                  const send = window.fetch;
                  window.late = 0;
                  window.fetch = async (path, options) => {
                    if (!/^search.query=(first|paper)/.test(path)) return send(path, options);
                    await new Promise((done) => setTimeout(done, 700));
                    window.late++;
                    return path.includes('first') ? send(path) : Promise.reject(new TypeError('the line broke'));
                  };
                }
                """
            )
            var book = TestBook.sentences(chapters: 2, paragraphs: 10)
            book.chapters[0].body += "<p>The first lighthouse, and the last zeppelin.</p>"
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { _ in
                try await browser.click("#open-search")
                for words in ["first", "paper", "zeppelin"] {
                    try await browser.clear("#search-words")
                    try await browser.type(words + BrowserKey.enter, into: "#search-words")
                }
                try await browser.wait(until: "document.getElementById('search-state').textContent === '1 place'")
                try await browser.wait(until: "window.late === 2")
                try await Task.sleep(for: .milliseconds(300))
                #expect(try await browser.text("#search-state") == "1 place")
                #expect(try await browser.text("#search-results mark") == "zeppelin")
                #expect(try await browser.script("return document.querySelectorAll('#search-results li').length") == 1)
            }
        }
    }

    @Test func `sees how far they are by positions, not by chapters`() async throws {
        try await ReaderPage.withBrowser { browser in
            var book = TestBook.sentences(chapters: 2, paragraphs: 80)
            book.chapters.insert(("title.xhtml", "<h1>A title page</h1>"), at: 0)
            let publication = try await book.open(packed: true)
            let counts = try await publication.positionsByReadingOrder().map(\.count)
            try #require(counts.count == 3 && counts[0] == 1 && counts[1] > 1 && counts[2] > 1)
            let total = counts.reduce(0, +)
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(3) button")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 3'"
                )
                try await page.waitForPlace { $0["href"]?.string?.hasSuffix("chapter2.xhtml") == true }
                let place = try #require(try await page.record()["place"]?["locations"])
                #expect(abs((place["totalProgression"]?.double ?? 0) - Double(counts[0] + counts[1]) / Double(total)) < 0.001)
                #expect(place["position"]?.int == counts[0] + counts[1] + 1)
                let shown = try await browser.script("return Number(document.getElementById('meter').getAttribute('value'))")
                    .double
                #expect(shown == place["totalProgression"]?.double)
            }
        }
    }

    @Test func `reads and searches in a browser that cannot color words`() async throws {
        var book = TestBook.sentences(chapters: 2, paragraphs: 20)
        let without = "delete self.Highlight; Object.defineProperty(CSS, 'highlights', { value: undefined });"
        book.files["without.js"] = Array(without.utf8)
        book.head = "<script src=\"without.js\"></script>"
        let publication = try await book.open()
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await page.waitInDocument(
                    until: "document.body.innerText.startsWith('Chapter 1') && !self.Highlight && !CSS.highlights"
                )
                try await browser.press(BrowserKey.space)
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 2 of')")
                let errors = try await browser.messages().filter(\.isError)
                #expect(errors.isEmpty, "\(errors)")
            }
        }
    }

    @Test(arguments: BrowserKind.allCases)
    func `turns pages, changes the theme and keeps the place in a book in UTF-16`(kind: BrowserKind) async throws {
        var book = TestBook.sentences(chapters: 2, paragraphs: 40)
        book.chapters[0].body = book.chapters[0].body.replacing("</h1>", with: " más</h1>")
        book.isUTF16 = true
        let publication = try await book.open()
        try await ReaderPage.withBrowser(kind: kind) { browser in
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await page.waitInDocument(until: "document.body.innerText.startsWith('Chapter 1 más')")
                try await browser.press(BrowserKey.space)
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 2 of')")
                try await page.waitForPlace { ($0["locations"]?["progression"]?.double ?? 0) > 0 }
                try await browser.click("#open-look")
                try await browser.script("document.querySelector('[name=theme][value=dark]').click()")
                try await page.waitInDocument(until: "getComputedStyle(document.body).color === 'rgb(227, 221, 209)'")
            }
        }
    }

    @Test func `hears in Firefox that there is no sound device`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let file = directory.file("tone.mp3")
        try await checkProcess([ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=frequency=220:duration=5", file])
        let publication = try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: file), allowUserInteraction: false)
        try await ReaderPage.withBrowser(BrowserOptions(lacksSound: true), kind: .firefox) { browser in
            try await ReaderPage.with(publication, browser, folder: folder) { _ in
                try await browser.wait(until: "document.getElementById('sound').readyState > 0")
                try await browser.script("document.getElementById('sound').play().catch(() => {})")
                try await browser.wait(
                    until: "document.getElementById('sound-trouble').textContent.startsWith('No sound output')"
                )
            }
        }
    }
}
