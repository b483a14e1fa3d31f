// SPDX-License-Identifier: Apache-2.0

import CarrelReader
import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelWebReader
import CarrelTesting
import Testing

@Suite("The web reader in Chromium")
struct WebReaderTests {
    private let directory = TemporaryDirectory()

    private var folder: String { directory.file("data/reader") }

    @Test func `shows the contents, goes to a chapter and turns pages by buttons and keys`() async throws {
        try await ReaderPage.withBrowser { browser in
            let publication = try await TestBook.sentences(chapters: 3, paragraphs: 30).open(packed: true)
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                #expect(try await browser.text("#title") == "The Reader's Companion")
                #expect(try await page.seen().text.hasPrefix("Chapter 1 Sentence 1 of paragraph 1 in chapter 1"))
                let start = try await page.seen()
                try await browser.click("#later")
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 2 of')")
                let second = try await page.seen()
                #expect(second.first > start.first && second.first <= start.last + 1)
                try await browser.inFrame("#page") { try await browser.press(BrowserKey.left) }
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 1 of')")
                #expect(try await page.seen() == start)

                try await browser.click("#open-contents")
                let items = try await browser.script(
                    "return [...document.querySelectorAll('.contents-item')].map((item) => item.textContent)"
                )
                #expect(items == ["Chapter 1", "Chapter 2", "Chapter 3"])
                try await browser.click("#contents-list li:nth-child(2) button")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 2'"
                )
                #expect(try await page.seen().text.hasPrefix("Chapter 2 Sentence 1"))
                // before the first page of a chapter stands the last of the one before
                try await browser.click("#earlier")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 1'"
                )
                #expect(try await page.seen().text.contains("paragraph 30 in chapter 1"))
                let errors = try await browser.messages().filter(\.isError)
                #expect(errors.isEmpty, "\(errors)")
            }
        }
    }

    @Test func `opens documents outside the reading order from the contents and the search, and goes back`() async throws {
        try await ReaderPage.withBrowser { browser in
            var book = TestBook.sentences(chapters: 2, paragraphs: 10)
            book.asides = [("notes 1.xhtml", "<p id=\"mark\">A zeppelin.</p>")]
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                func isAside() async throws {
                    try await browser.wait(until: "\(ReaderPage.isReady) && !document.getElementById('back').hidden")
                    #expect(try await page.seen().text == "A zeppelin.")
                    #expect(try await browser.text("#chapter") == "Aside notes 1.xhtml")
                }
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(3) button")
                try await isAside()
                try await browser.click("#back")
                try await browser.wait(until: "\(ReaderPage.isReady) && document.getElementById('back').hidden")
                #expect(try await browser.text("#chapter") == "Chapter 1")
                try await browser.click("#open-search")
                try await browser.type("zeppelin" + BrowserKey.enter, into: "#search-words")
                try await browser.wait(until: "document.getElementById('search-state').textContent === '1 place'")
                #expect(try await browser.text("#search-results .result-place") == "Aside notes 1.xhtml")
                try await browser.click("#search-results button")
                try await isAside()
            }
        }
    }

    @Test func `has the same sentence on the screen after a new size, another window and a restart`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 3, paragraphs: 40)
            var wanted = 0
            func check(_ page: ReaderPage, _ what: String) async throws {
                let seen = try await page.seen()
                #expect(
                    seen.first <= wanted && wanted <= seen.last,
                    "\(what): word \(wanted), and \(seen.first) to \(seen.last) are seen"
                )
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(2) button")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 2'"
                )
                for number in 2...4 {
                    try await browser.click("#later")
                    try await browser.wait(
                        until: "document.getElementById('progress').textContent.startsWith('Page \(number) of')"
                    )
                }
                wanted = try await page.seen().first
                try #require(wanted > 100)
                try await browser.click("#open-look")
                for (size, pixels) in [(115, "18.4px"), (130, "20.8px"), (150, "24px"), (175, "28px")] {
                    try await browser.click("#larger")
                    try await page.waitInDocument(until: "getComputedStyle(document.documentElement).fontSize === '\(pixels)'")
                    try await check(page, "size \(size)")
                }
                try await browser.script("document.getElementById('look-sheet').close()")
                for (width, height) in [(360, 640), (1440, 900), (700, 500)] {
                    try await browser.setWindowSize(width: width, height: height)
                    try await browser.wait(until: "innerWidth === \(width)")
                    try await page.waitForLayout()
                    try await check(page, "\(width) by \(height)")
                }
                try await page.waitForPlace {
                    $0["href"]?.string?.hasSuffix("chapter2.xhtml") == true && $0["text"]?["highlight"] != nil
                }
            }
            try await browser.setWindowSize(width: 900, height: 800)
            // another server, another port, the same folder
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                #expect(try await browser.text("#chapter") == "Chapter 2")
                #expect(try await page.inDocument("return getComputedStyle(document.documentElement).fontSize").string == "28px")
                try await check(page, "restart")
            }
        }
    }

    @Test func `finds words and shows where they stand`() async throws {
        try await ReaderPage.withBrowser { browser in
            var book = TestBook.sentences(chapters: 3, paragraphs: 40)
            book.chapters[2].body += "<p>Only here is the “Aurora <b>Borea</b>lis” named &amp; praised.</p>"
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.click("#open-search")
                try await browser.type("\"aurora borealis\" NAMED &" + BrowserKey.enter, into: "#search-words")
                try await browser.wait(until: "document.getElementById('search-state').textContent === '1 place'")
                #expect(try await browser.text("#search-results mark") == "“Aurora Borealis” named &")
                try await browser.click("#search-results button")
                try await browser.wait(
                    until: "\(ReaderPage.isReady) && document.getElementById('chapter').textContent === 'Chapter 3'"
                )
                try await page.waitInDocument(until: "CSS.highlights.has('carrel-hit')")
                #expect(try await page.seen().text.contains("Only here is the “Aurora"))
                #expect(
                    try await page.inDocument("return [...CSS.highlights.get('carrel-hit')][0].toString()").string
                        == "“Aurora Borealis” named &"
                )

                try await browser.click("#open-search")
                try await browser.clear("#search-words")
                try await browser.type("sentence 2" + BrowserKey.enter, into: "#search-words")
                try await browser.wait(until: "document.getElementById('search-state').textContent === '50 places so far'")
                try await browser.click("#search-more")
                try await browser.wait(until: "document.getElementById('search-state').textContent === '100 places so far'")
                try await browser.click("#search-more")
                try await browser.wait(until: "document.getElementById('search-state').textContent === '120 places'")
                try await browser.clear("#search-words")
                try await browser.type("xylophone" + BrowserKey.enter, into: "#search-words")
                try await browser.wait(until: "document.getElementById('search-state').textContent === 'Nothing found.'")
            }
        }
    }

    @Test func `keeps highlights and notes, and exports and imports them as W3C annotations`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 2, paragraphs: 12)
            var exported: [UInt8] = []
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await page.select("Sentence 2 of paragraph 1 in chapter 1")
                try await browser.click("[data-color=green]")
                try await page.waitInDocument(until: "CSS.highlights.get('carrel-green').size === 1")
                #expect(try await browser.script("return document.getElementById('selection').hidden").bool == true)
                try await page.select("Sentence 4 of paragraph 1")
                try await browser.click("#selection-note")
                try await browser.type("Why <em>four</em> & not five?", into: "#note-text")
                try await browser.click("#note-form button[type=submit]")
                try await page.waitInDocument(until: "CSS.highlights.get('carrel-yellow').size === 1")
                #expect(
                    try await page.inDocument("return [...CSS.highlights.get('carrel-green')][0].toString()").string
                        == "Sentence 2 of paragraph 1 in chapter 1"
                )
                let deadline = ContinuousClock.now + .seconds(10)
                while try await page.record()["annotations"]?.array?.last?["body"] == nil, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(50))
                }
                let response = try await HTTPClient().send(ClientRequest(.get, page.address + "annotations"))
                exported = response.body
                #expect(response.headers["Content-Type"] == "application/ld+json;profile=\"http://www.w3.org/ns/anno.jsonld\"")
                let collection = try JSON.parse(exported.rawSpan)
                #expect(collection["@context"]?.string == "http://www.w3.org/ns/anno.jsonld")
                #expect(collection["type"]?.string == "AnnotationCollection" && collection["total"]?.int == 2)
                let items = try #require(collection["first"]?["items"]?.array)
                #expect(items.map { $0["motivation"]?.string } == ["highlighting", "commenting"])
                #expect(items[1]["body"]?["value"]?.string == "Why <em>four</em> & not five?")
                #expect(items[0]["target"]?["source"]?.string == "EPUB/chapter1.xhtml")
                let quote = items[0]["target"]?["selector"]?.array?.first
                #expect(quote?["type"]?.string == "TextQuoteSelector")
                #expect(quote?["exact"]?.string == "Sentence 2 of paragraph 1 in chapter 1")
                #expect(quote?["prefix"]?.string?.hasSuffix(". ") == true || quote?["prefix"]?.string?.hasSuffix(".") == true)
            }
            // a reader that knows nothing yet takes them in
            try await ReaderPage.with(try await book.open(), browser, folder: directory.file("other")) { page in
                #expect(try await page.inDocument("return CSS.highlights.get('carrel-green').size").int == 0)
                _ = try await browser.asyncScript(
                    """
                    const input = document.getElementById('notes-import'), files = new DataTransfer();
                    files.items.add(new File([arguments[0]], 'annotations.jsonld'));
                    input.files = files.files;
                    input.dispatchEvent(new Event('change'));
                    arguments[1]();
                    """,
                    .string(String(decoding: exported, as: UTF8.self))
                )
                try await page.waitInDocument(until: "CSS.highlights.get('carrel-green').size === 1")
                try await browser.click("#open-notes")
                #expect(try await browser.text("#notes-list .note-words") == "Why <em>four</em> & not five?")
                // buttons say whose they are, and the focus goes to the next one
                let button = "button[aria-label='Remove highlight “Sentence 2 of paragraph 1 in chapter 1”']"
                try await browser.click("#notes-list li:first-child \(button)")
                try await page.waitInDocument(until: "CSS.highlights.get('carrel-green').size === 0")
                let focused = "document.activeElement.getAttribute('aria-label')"
                #expect(
                    try await browser.script("return \(focused)").string == "Remove highlight “Sentence 4 of paragraph 1”"
                )
                try await browser.click("#notes-list li:first-child button[aria-label^='Edit note on “Sentence 4']")
                #expect(try await browser.script("return document.activeElement.id").string == "note-text")
                try await browser.click("#note-form button[type=submit]")
                try await browser.wait(until: "\(focused)?.startsWith('Edit note on “Sentence 4')")
                // the label of the file's field shows the focus
                try await browser.press(BrowserKey.tab, BrowserKey.tab, BrowserKey.tab)
                #expect(try await browser.script("return document.activeElement.id").string == "notes-import")
                #expect(
                    try await browser.script(
                        "return getComputedStyle(document.activeElement.closest('label')).outlineStyle"
                    ).string == "solid"
                )
            }
            try await ReaderPage.with(try await book.open(), browser, folder: directory.file("other")) { page in
                let record = try await page.record()
                #expect(record["annotations"]?.array?.count == 1)
                #expect(try await page.inDocument("return CSS.highlights.get('carrel-yellow').size").int == 1)
            }
        }
    }

    @Test func `copies only what may be copied, and asks before it prints`() async throws {
        try await ReaderPage.withBrowser { browser in
            let rights = CountedRights(characters: 45, pages: 1)
            let publication = try await TestBook.sentences(chapters: 1, paragraphs: 12)
                .open(StatedProtection.adding(StatedProtection(rights: rights)))
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.script(
                    "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; window.printed = 0; window.print = () => { window.printed++; };"
                )
                try await page.select("Sentence 2 of paragraph 1 in chapter 1")
                try await browser.click("#selection-copy")
                try await browser.wait(until: "document.getElementById('said').textContent === 'Copied.'")
                #expect(rights.charactersLeft == 7)
                // longer than the remaining amount; by keyboard this time
                try await browser.inFrame("#page") { try await browser.press("c", holding: ["\u{E009}"]) }
                try await browser.wait(
                    until: "document.getElementById('said').textContent.startsWith('This text may not be copied')"
                )
                #expect(try await browser.script("return window.copied") == ["Sentence 2 of paragraph 1 in chapter 1"])
                #expect(rights.charactersLeft == 7)

                try await browser.click("#open-print")
                try await browser.wait(until: "document.getElementById('print-sheet').open")
                #expect(try await browser.text("#print-count").contains("count"))
                #expect(rights.pagesLeft == 1)
                try await browser.click("#print-form button[data-close]")
                #expect(rights.pagesLeft == 1)
                #expect(try await browser.script("return window.printed").int == 0)
            }
            // by the page list if there is one: text before its first page counts, too
            var paged = TestBook.sentences(chapters: 1, paragraphs: 12)
            paged.printedPages = ["p1", "p2", "p3", "p12"].map { "chapter1.xhtml#\($0)" }
            let pages = StatedProtection(rights: CountedRights(characters: 0, pages: 9))
            let listed = try await paged.open(StatedProtection.adding(pages))
            try await ReaderPage.with(listed, browser, folder: folder) { page in
                let text = try await page.seen().text
                let begun = [1, 2, 3, 12].filter { text.contains("Sentence 1 of paragraph \($0) in") }
                #expect(begun.count >= 2)
                try await browser.click("#open-print")
                try await browser.wait(until: "document.getElementById('print-sheet').open")
                let count = try await browser.text("#print-count")
                #expect(count == "It counts as \(begun.count + 1) pages.")
            }
            let none = try await TestBook.sentences(chapters: 1, paragraphs: 12)
                .open(StatedProtection.adding(StatedProtection(rights: FixedUserRights(copy: false, print: false))))
            try await ReaderPage.with(none, browser, folder: folder) { page in
                #expect(try await browser.script("return document.getElementById('open-print').disabled").bool == true)
                #expect(try await browser.script("return document.getElementById('selection-copy').disabled").bool == true)
                try await page.select("Sentence 2 of paragraph 1")
                try await browser.inFrame("#page") { try await browser.press("c", holding: ["\u{E009}"]) }
                try await browser.wait(
                    until: "document.getElementById('said').textContent.startsWith('This text may not be copied')"
                )
                #expect(
                    try await browser.script("return getComputedStyle(document.querySelector('.stage')).display").string != "none"
                )
            }
        }
    }

    @Test func `counts a text once however often the clipboard refuses it`() async throws {
        try await ReaderPage.withBrowser { browser in
            let rights = CountedRights(characters: 100, pages: 1)
            let publication = try await TestBook.sentences(chapters: 1, paragraphs: 12)
                .open(StatedProtection.adding(StatedProtection(rights: rights)))
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.script(
                    "window.tries = 0; navigator.clipboard.writeText = async () => { if (++window.tries < 3) throw new Error(`try ${window.tries}`); };"
                )
                try await page.select("Sentence 2 of paragraph 1 in chapter 1")
                for said in ["Not copied: try 1", "Not copied: try 2", "Copied."] {
                    try await browser.click("#selection-copy")
                    try await browser.wait(until: "document.getElementById('said').textContent === '\(said)'")
                    #expect(rights.charactersLeft == 62)
                }
                // the same words again are another copy
                try await browser.script("document.getElementById('said').textContent = ''")
                try await browser.click("#selection-copy")
                try await browser.wait(until: "document.getElementById('said').textContent === 'Copied.'")
                #expect(rights.charactersLeft == 24)
            }
        }
    }

    @Test func `hears a script that took the port of its document only when the reader did something`() async throws {
        try await ReaderPage.withBrowser { browser in
            let rights = CountedRights(characters: 100, pages: 1)
            let publication = try await TestBook.sentences(chapters: 1, paragraphs: 12).open(
                StatedProtection.adding(StatedProtection(rights: rights))
            )
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                // the holder of the port speaks for the document; another window makes it speak without any user activity
                _ = try await page.inDocument(
                    "const post = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function (...all) { window.stolen = this; return post.apply(this, all); };"
                )
                try await browser.setWindowSize(width: 900, height: 700)
                try await page.waitInDocument(until: "window.stolen")
                #expect(try await browser.script("return navigator.userActivation.hasBeenActive") == false)
                _ = try await page.inDocument(
                    """
                    window.stolen.postMessage({ type: 'seen', characters: 5000 });
                    window.stolen.postMessage({ type: 'key', key: 't' });
                    window.stolen.postMessage({ type: 'key', key: 'p', isControl: true });
                    for (let number = 0; number < 20; number++) window.stolen.postMessage({ type: 'copy', text: 'abcde' });
                    """
                )
                // what came first is decided first
                try await browser.wait(until: "document.getElementById('said').textContent.startsWith('Not copied')")
                #expect(try await browser.script("return document.querySelector('dialog[open]')") == .null)
                #expect(rights.charactersLeft == 100)
                try await browser.click("#open-print")
                try await browser.wait(until: "document.getElementById('print-sheet').open")
            }
        }
    }

    @Test func `has keys of one letter, which can be switched off for good`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 1, paragraphs: 12)
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.inFrame("#page") { try await browser.press("t") }
                try await browser.wait(until: "document.getElementById('contents-sheet').open")
                try await browser.click("#open-help")
                try await browser.wait(until: "document.getElementById('help-sheet').open")
                #expect(try await browser.script("return document.querySelectorAll('#help-keys tr').length").int == 12)
                try await browser.click("#help-on")
                let deadline = ContinuousClock.now + .seconds(20)
                while try await page.preferences()["keys"]?.bool != false, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(50))
                }
                try await browser.script("for (const sheet of document.querySelectorAll('dialog[open]')) sheet.close()")
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                for key in ["t", "s", "/", "+", "?"] {
                    try await browser.script("document.getElementById('page').focus()")
                    #expect(try await page.inDocument("return document.hasFocus()") == true)
                    try await browser.inFrame("#page") { try await browser.press(key) }
                    try await browser.script("document.getElementById('open-contents').focus()")
                    try await browser.press(key)
                }
                // arrows turn pages all the same, and after them nothing is under way any more
                try await browser.press(BrowserKey.right)
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page 2 of')")
                #expect(try await browser.script("return document.querySelector('dialog[open]')") == .null)
                #expect(try await page.preferences()["size"]?.int == 100)
            }
        }
    }

    @Test func `shows page and reader in the theme that was chosen, which it keeps`() async throws {
        try await ReaderPage.withBrowser { browser in
            let book = TestBook.sentences(chapters: 1, paragraphs: 12)
            let look = """
                const { color, backgroundColor } = getComputedStyle(document.body);
                const paper = getComputedStyle(document.documentElement).backgroundColor;
                return [color, backgroundColor === 'rgba(0, 0, 0, 0)' ? paper : backgroundColor];
                """
            func looks(_ page: ReaderPage) async throws -> [JSON] {
                [try await page.inDocument(look), try await browser.script(look)]
            }
            var seen: [[JSON]] = []
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                try await browser.click("#open-look")
                for theme in ["light", "sepia", "dark"] {
                    try await browser.script(
                        "document.querySelector(`[name=theme][value=${arguments[0]}]`).click()",
                        .string(theme)
                    )
                    try await browser.wait(until: "document.documentElement.dataset.theme === '\(theme)'")
                    seen.append(try await looks(page))
                }
                // ink and paper of the theme, as the page itself names them
                #expect(
                    seen.map { $0[0] } == [
                        ["rgb(33, 30, 25)", "rgb(255, 253, 249)"], ["rgb(61, 47, 28)", "rgb(244, 232, 210)"],
                        ["rgb(227, 221, 209)", "rgb(21, 20, 17)"],
                    ]
                )
                let deadline = ContinuousClock.now + .seconds(20)
                while try await page.preferences()["theme"]?.string != "dark", ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                let now = try await looks(page)
                #expect(now == seen.last)
            }
        }
    }

    @Test func `shows no restricted publication`() async throws {
        let error = Publication.OpeningError(.forbidden, "the loan is over")
        let restricted = try await TestBook.sentences(chapters: 1, paragraphs: 1)
            .open(StatedProtection.adding(StatedProtection(rights: AllRestrictedUserRights(), error: error)))
        do {
            _ = try await WebReader(restricted, folder: folder)
            Issue.record("it was shown")
        } catch {
            #expect((error as? ReaderError)?.code == .restricted)
            #expect("\(error)".contains("the loan is over"))
        }
        restricted.close()
    }
}
