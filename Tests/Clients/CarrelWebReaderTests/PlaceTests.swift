// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import CarrelWebReader
import Testing

/// Documents that make it hard to say where the reader is.
@Suite("The place in Chromium")
struct PlaceTests {
    private let directory = TemporaryDirectory()
    private var folder: String { directory.file("reader") }

    private func waitForPage(_ number: Int, _ browser: Browser) async throws {
        try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page \(number) of')")
    }

    /// Turns to a page by the button, one page at a time.
    private func turn(to number: Int, from first: Int = 1, _ browser: Browser) async throws {
        guard number > first else { return }
        for page in first + 1...number {
            try await browser.click("#later")
            try await waitForPage(page, browser)
        }
    }

    private func check(_ page: ReaderPage, _ wanted: Int, _ what: String) async throws {
        let seen = try await page.seen()
        #expect(
            seen.first <= wanted && wanted <= seen.last,
            "\(what): word \(wanted), and \(seen.first) to \(seen.last) are seen"
        )
    }

    @Test(arguments: [(nil, "dir=\"rtl\""), ("rtl", ""), ("rtl", "dir=\"rtl\"")])
    func `of pages from the right: buttons, arrows and swipes go one way`(progression: String?, attributes: String) async throws {
        var book = TestBook.sentences(chapters: 2, paragraphs: 30)
        book.progression = progression
        book.attributes = attributes
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                #expect(try await browser.script("return document.documentElement.dataset.progression").string == "rtl")
                let isLeft = try await browser.script(
                    "const middle = (id) => { const box = document.getElementById(id).getBoundingClientRect(); return box.left + box.width / 2; }; return middle('later') < innerWidth / 2 && middle('earlier') > innerWidth / 2"
                )
                #expect(isLeft == true)
                let first = try await page.seen()
                try await turn(to: 2, browser)
                let second = try await page.seen()
                #expect(second.first > first.first && second.first <= first.last + 1)
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.left) }
                try await waitForPage(3, browser)
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.right) }
                try await waitForPage(2, browser)
                #expect(try await page.seen() == second)
                let swipe = """
                    const touch = (x) => new Touch({ identifier: 1, target: document.body, clientX: x, clientY: 300 });
                    document.body.dispatchEvent(new TouchEvent('touchstart', { bubbles: true, touches: [touch(300)], changedTouches: [touch(300)] }));
                    document.body.dispatchEvent(new TouchEvent('touchend', { bubbles: true, touches: [], changedTouches: [touch(500)] }));
                    """
                _ = try await page.inDocument(swipe)
                try await waitForPage(3, browser)
                let wanted = try await page.seen().first
                try await browser.setWindowSize(width: 600, height: 700)
                try await browser.wait(until: "innerWidth === 600")
                try await page.waitForLayout()
                try await check(page, wanted, "another window")
                // where the focus is on the page itself
                try await browser.script("document.getElementById('open-contents').focus()")
                let number = try await browser.text("#progress").split(separator: " ")[1]
                try await browser.press(BrowserKey.right)
                try await waitForPage(try #require(Int(number)) - 1, browser)
            }
        }
    }

    @Test(arguments: ["vertical-rl", "vertical-lr"])
    func `in lines from top to bottom is kept, in pages and scrolling`(mode: String) async throws {
        var book = TestBook()
        book.head = "<style>html { writing-mode: \(mode) }</style>"
        let paragraphs = (1...40).map { paragraph in
            "<p>" + (1...12).map { "第\(paragraph)段第\($0)文は雨と紙の舟の話。" }.joined(separator: " ") + "</p>"
        }
        book.chapters = [("a.xhtml", paragraphs.joined()), ("b.xhtml", "<p>終わり。</p>")]
        try await ReaderPage.withBrowser { browser in
            var wanted = 0
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                let side = mode == "vertical-rl" ? "rtl" : "ltr"
                #expect(try await browser.script("return document.documentElement.dataset.progression").string == side)
                let first = try await page.seen()
                #expect(first.first == 1 && first.last < 480)
                try await turn(to: 2, browser)
                let second = try await page.seen()
                #expect(second.first > first.first && second.first <= first.last + 1, "\(first), \(second)")
                try await browser.inFrame("#page") {
                    try await browser.press(mode == "vertical-rl" ? BrowserKey.left : BrowserKey.right)
                }
                try await waitForPage(3, browser)
                wanted = try await page.seen().first
                try await browser.setWindowSize(width: 560, height: 680)
                try await browser.wait(until: "innerWidth === 560")
                try await page.waitForLayout()
                try await check(page, wanted, "another window")
                // one long page, and back
                try await browser.click("#open-look")
                try await browser.script("document.querySelector('input[name=mode][value=scroll]').click()")
                try await page.waitInDocument(until: "getComputedStyle(document.documentElement).overflowX !== 'hidden'")
                try await check(page, wanted, "scrolling")
                try await browser.script("document.getElementById('look-sheet').close()")
                let before = try await page.inDocument("return scrollX").double ?? 0
                #expect(mode == "vertical-rl" ? before < 0 : before > 0)
                try await browser.click("#later")
                try await page.waitInDocument(until: mode == "vertical-rl" ? "scrollX < \(before)" : "scrollX > \(before)")
                let next = try await page.seen()
                #expect(next.first > wanted)
                wanted = next.first
                // the line at the edge may be seen in part only: the end of the quote is on the screen
                try await page.waitForPlace { place in
                    let end = place["text"]?["highlight"]?.string?.suffix(12) ?? ""
                    return !end.isEmpty && next.text.contains(end)
                }
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await page.waitInDocument(until: "scrollX !== 0")
                try await check(page, wanted, "restart")
            }
        }
    }

    @Test func `ignores hidden text`() async throws {
        var book = TestBook.sentences(chapters: 1, paragraphs: 20)
        let hidden = (1...400).map { "Hidden words number \($0)." }.joined(separator: " ")
        let styles = [
            "display:none", "visibility:hidden;position:absolute;top:0;left:0", "position:absolute;left:-9999px;width:300px",
            "position:absolute;width:1px;height:1px;overflow:hidden", "font-size:0",
        ]
        let parts =
            styles.map { "<div data-hidden=\"\" style=\"\($0)\">\(hidden)</div>" }.joined()
            + "<details><summary>More</summary>\(hidden)</details>"
        let seen = book.chapters[0].body
        book.chapters[0].body = parts + seen + parts + seen.replacing("id=\"p", with: "id=\"q") + parts
        try await ReaderPage.withBrowser { browser in
            var text = ""
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await turn(to: 4, browser)
                text = try await page.firstText()
                try await page.waitForPlace { $0["text"]?["highlight"]?.string?.hasPrefix(text) == true }
                for (width, height) in [(600, 500), (1000, 760)] {
                    try await browser.setWindowSize(width: width, height: height)
                    try await browser.wait(until: "innerWidth === \(width)")
                    try await page.waitForLayout()
                    #expect(try await page.showsText(text), "\(width)")
                }
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                #expect(try await page.showsText(text), "restart")
                try await waitForPage(4, browser)
            }
        }
    }

    @Test func `in a chapter without words is a part of its pages`() async throws {
        var book = TestBook.sentences(chapters: 1, paragraphs: 1)
        let drawing =
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 60'%3E%3Crect width='40' height='60'/%3E%3C/svg%3E"
        let pictures = (1...8).map {
            "<div><img id=\"i\($0)\" alt=\"\" src=\"\(drawing)\" style=\"display:block;height:90vh\"/></div>"
        }
        book.chapters = [
            ("pictures.xhtml", pictures.joined()), ("words.xhtml", pictures.joined() + "<p>The end of all pictures.</p>"),
        ]
        let shown =
            "[...document.images].filter((image) => { const box = image.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth + 1; }).map((image) => image.id).join()"
        try await ReaderPage.withBrowser { browser in
            for chapter in [1, 2] {
                let folder = "\(folder)\(chapter)"
                try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                    try await browser.click("#open-contents")
                    try await browser.click("#contents-list li:nth-child(\(chapter)) button")
                    try await browser.wait(
                        until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter \(chapter)'"
                    )
                    try await turn(to: 5, browser)
                    #expect(try await page.inDocument("return \(shown)").string == "i5")
                    try await page.waitForPlace { ($0["locations"]?["progression"]?.double ?? 0) > 0.4 && $0["text"] == nil }
                    try await browser.setWindowSize(width: 640, height: 500)
                    try await browser.wait(until: "innerWidth === 640")
                    try await page.waitForLayout()
                    #expect(try await page.inDocument("return \(shown)").string == "i5")
                    try await browser.setWindowSize(width: 1000, height: 760)
                }
                try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                    try await waitForPage(5, browser)
                    #expect(try await page.inDocument("return \(shown)").string == "i5")
                }
            }
        }
    }

    @Test func `stays where it is when a script puts words before it, and marks stay on their words`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 1, paragraphs: 30)
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await turn(to: 3, browser)
                let text = try await page.firstText()
                _ = try await page.inDocument(
                    "const add = document.createElementNS('http://www.w3.org/1999/xhtml', 'div'); add.id = 'added'; add.textContent = 'Other words by a script. '.repeat(400); document.body.prepend(add);"
                )
                try await browser.wait(until: "!document.getElementById('progress').textContent.startsWith('Page 3 of')")
                #expect(try await page.showsText(text))
                let number = try #require(Int(try await browser.text("#progress").split(separator: " ")[1]))
                try await turn(to: number + 1, from: number, browser)
                let next = try await page.firstText()
                try await page.waitForPlace { $0["text"]?["highlight"]?.string?.hasPrefix(next) == true }
                // and taken away again: the words that were the place are still there
                _ = try await page.inDocument("document.getElementById('added').remove()")
                try await browser.wait(
                    until: "!document.getElementById('progress').textContent.startsWith('Page \(number + 1) of')"
                )
                #expect(try await page.showsText(next))
            }
        }
    }

    @Test func `in one very long paragraph takes little to find`() async throws {
        var book = TestBook()
        let sentences = (1...8000).map { "Sentence \($0) of one  paragraph." }
        book.chapters = [("a.xhtml", "<p>\(sentences.joined(separator: " "))</p>")]
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                // every character that is looked at passes through this
                _ = try await page.inDocument(
                    "const test = RegExp.prototype.test; window.tests = 0; RegExp.prototype.test = function (text) { window.tests++; return test.call(this, text); };"
                )
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.end) }
                try await browser.wait(
                    until:
                        "/^Page (\\d+) of \\1 /.test(document.getElementById('progress').textContent) && !document.getElementById('progress').textContent.startsWith('Page 1 ')"
                )
                let tests = try #require(try await page.inDocument("return window.tests").int)
                #expect(tests > 0 && tests < 20_000)
                let text = try await page.firstText()
                try await page.waitForPlace { $0["text"]?["highlight"]?.string?.hasPrefix(text) == true }
            }
        }
    }

    @Test func `is in the next chapter after presses too many at the end of one`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 3, paragraphs: 12)
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.end) }
                try await browser.wait(
                    until: "/^Page ([2-9]) of \\1 /.test(document.getElementById('progress').textContent)"
                )
                try await browser.script(
                    """
                    const later = document.getElementById('later');
                    new MutationObserver(() => { if (document.documentElement.dataset.state === 'opening') later.click(); })
                      .observe(document.documentElement, { attributeFilter: ['data-state'] });
                    later.click();
                    later.click();
                    """
                )
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent !== 'Chapter 1'"
                )
                try await page.select("Sentence 2 of paragraph 1")
                #expect(try await browser.text("#chapter") == "Chapter 2")
                #expect(try await browser.text("#progress").hasPrefix("Page 1 of"))
            }
        }
    }

    @Test func `while scrolling has a number among the pages, and stays when something is put before it`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 1, paragraphs: 40)
            var number = ""
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.click("#open-look")
                try await browser.script(
                    "document.querySelector('input[name=mode][value=scroll]').click(); document.getElementById('look-sheet').close()"
                )
                try await page.waitInDocument(until: "getComputedStyle(document.documentElement).overflowY !== 'hidden'")
                try await turn(to: 5, browser)
                number = try await browser.text("#progress")
                let text = try await page.firstText()
                try await page.waitForPlace { $0["text"]?["highlight"]?.string?.contains(text.suffix(10)) == true }
                let stood = try await page.inDocument(
                    """
                    document.documentElement.style.overflowAnchor = 'none';
                    const add = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
                    add.style.height = '3000px';
                    const stood = document.getElementById('p20').getBoundingClientRect().top;
                    document.body.prepend(add);
                    return stood;
                    """
                )
                try await browser.wait(
                    until: "!document.getElementById('progress').textContent.startsWith('\(number.prefix(9))')"
                )
                let stands = try await page.inDocument("return document.getElementById('p20').getBoundingClientRect().top")
                let moved = abs(try #require(stands.double) - (try #require(stood.double)))
                #expect(moved <= 2)
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page')")
                let again = try await browser.text("#progress")
                let numbers = [number, again].map { $0.split(separator: " ").compactMap { Int($0) } }
                try #require(numbers[0].count > 1 && numbers[1].count > 1)
                #expect(abs(numbers[0][0] - numbers[1][0]) <= 1 && numbers[0][1] == numbers[1][1], "\(number), \(again)")
            }
        }
    }

    @Test func `of an empty mark is where its words are, and a chapter in another direction turns no book around`() async throws {
        var book = TestBook.sentences(chapters: 2, paragraphs: 8)
        book.attributes = "dir=\"rtl\""
        book.chapters[0].body +=
            "<p><a href=\"#m\" id=\"go\">Go</a></p>\(TestBook.sentences(chapters: 1, paragraphs: 20).chapters[0].body.replacing("id=\"p", with: "id=\"q"))"
            + "<span id=\"m\"></span><h2 style=\"break-before: column\">Here is the mark</h2><p>And words.</p>"
        book.chapters[1].body = "<style>body { direction: ltr !important }</style>" + book.chapters[1].body
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                _ = try await page.inDocument("document.getElementById('go').focus()")
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.enter) }
                try await browser.wait(until: "!document.getElementById('progress').textContent.startsWith('Page 1 of')")
                try await page.select("And words")
                #expect(try await page.seen().text.hasPrefix("Here is the mark"))
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(2) button")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 2'"
                )
                #expect(try await page.inDocument("return getComputedStyle(document.body).direction").string == "ltr")
                #expect(try await browser.script("return document.documentElement.dataset.progression").string == "rtl")
            }
        }
    }

    @Test func `is kept when the reader went there, and not when the window changed`() async throws {
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.notePlaces(browser)
            let book = TestBook.sentences(chapters: 2, paragraphs: 30)
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await turn(to: 3, browser)
                // page 2 may have been kept before
                let text = try await page.firstText()
                try await page.waitForPlace { $0["text"]?["highlight"]?.string?.hasPrefix(text) == true }
                let sent = try await page.sentPlaces()
                #expect(sent.last?["text"]?["highlight"]?.string?.hasPrefix(text) == true)
                // another window continues
                let other: JSON = [
                    "href": "EPUB/chapter2.xhtml", "type": "application/xhtml+xml", "locations": ["progression": 0.5],
                ]
                let request = ClientRequest(
                    .put,
                    page.address + "place",
                    headers: ["Content-Type": "application/json"],
                    body: .bytes(other.write())
                )
                let status = try await HTTPClient().send(request).status
                #expect(status == .noContent)
                let before = try await browser.text("#progress")
                try await browser.setWindowSize(width: 500, height: 600)
                try await browser.wait(until: "innerWidth === 500")
                try await page.waitForLayout()
                try await browser.wait(until: "document.getElementById('progress').textContent !== '\(before)'")
                // the document reports a selection after the earlier positions
                try await page.select("Sentence 1 of paragraph 1")
                #expect(try await page.sentPlaces() == sent)
                #expect(try await page.record()["place"]?["href"]?.string == "EPUB/chapter2.xhtml")
            }
        }
    }
}

extension ReaderPage {
    /// The first complete words on the screen.
    fileprivate func firstText() async throws -> String {
        try await seen().text.split(separator: " ").prefix(5).joined(separator: " ")
    }

    fileprivate func showsText(_ text: String) async throws -> Bool { try await seen().text.contains(text) }
}
