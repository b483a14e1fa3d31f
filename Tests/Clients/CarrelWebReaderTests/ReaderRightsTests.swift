// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelJSON
import CarrelPublication
import CarrelTesting
import CarrelWebReader
import Testing

/// Text that leaves the page: on paper, and through the clipboard.
@Suite("Rights in Chromium")
struct ReaderRightsTests {
    private let directory = TemporaryDirectory()

    private func withPage(
        _ rights: any UserRights,
        _ book: TestBook = .sentences(chapters: 1, paragraphs: 30),
        _ body: (ReaderPage) async throws -> Void
    ) async throws {
        var options = BrowserOptions()
        options.keepsFramesInProcess = true
        try await ReaderPage.withBrowser(options, width: 900) { browser in
            let publication = try await book.open(StatedProtection.adding(StatedProtection(rights: rights)))
            try await ReaderPage.with(publication, browser, folder: directory.file("reader"), body)
        }
    }

    /// The words on paper, which is narrower than the window.
    private func paper(_ browser: Browser) async throws -> String {
        let file = directory.file("paper.pdf")
        directory.write("paper.pdf", try await browser.printed(width: 700, height: 1000))
        let words = try await checkProcess([try requirePeer("pdftotext"), "-layout", file, "-"])
        return words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func `print what is on the screen once it is counted, and nothing before and after`() async throws {
        let rights = CountedRights(characters: 100, pages: 5)
        try await withPage(rights) { page in
            let browser = page.browser
            // what a print dialog would do; the paper comes from the driver
            try await browser.script("window.printed = 0; window.print = () => { window.printed++; };")
            for number in 2...3 {
                try await browser.click("#later")
                try await browser.wait(until: "document.getElementById('progress').textContent.startsWith('Page \(number) of')")
            }
            // a frame that is printed by itself shows nothing on paper, nor where the page outside is shown there
            try await browser.script(
                """
                const stage = document.getElementById('stage'), { clientWidth, clientHeight } = stage;
                Object.assign(stage.style, { width: `${clientWidth}px`, height: `${clientHeight}px` });
                document.documentElement.classList.add('may-print');
                """
            )
            #expect(try await paper(browser).isEmpty)
            try await browser.script(
                "document.documentElement.classList.remove('may-print'); document.getElementById('stage').removeAttribute('style')"
            )
            let seen = try await page.seen().text
            let notice = "Pages are printed with the reader’s own button."
            #expect(try await paper(browser) == notice)

            try await browser.click("#open-print")
            try await browser.wait(until: "document.getElementById('print-sheet').open")
            let isCancel = "return document.activeElement.hasAttribute('data-close')"
            #expect(try await browser.script(isCancel) == true)
            // another size is another count
            try await browser.setWindowSize(width: 900, height: 700)
            try await browser.wait(until: "!document.getElementById('print-sheet').open")
            try await browser.setWindowSize(width: 900, height: 760)
            try await page.waitForLayout()
            #expect(try await page.seen().text == seen)
            try await browser.click("#open-print")
            try await browser.wait(until: "document.getElementById('print-sheet').open")
            let count = try await browser.text("#print-count")
            let pages =
                count == "It counts as one page." ? 1 : try #require(count.split(separator: " ").compactMap { Int($0) }.first)
            try await browser.click("#print-form button[type=submit]")
            try await browser.wait(until: "window.printed === 1")
            #expect(rights.pagesLeft == 5 - pages)
            let words = try await paper(browser)
            // a line may be cut between two pages: what is on the screen is on the paper, and nothing more
            #expect(words == seen, "\(words)")
            // once
            try await browser.wait(until: "!document.documentElement.classList.contains('may-print')")
            #expect(try await paper(browser) == notice)
            #expect(rights.pagesLeft == 5 - pages)
        }
    }

    @Test func `print nothing when the pages are used up`() async throws {
        let rights = CountedRights(characters: 100, pages: 1)
        try await withPage(rights) { page in
            let browser = page.browser
            try await browser.script("window.printed = 0; window.print = () => { window.printed++; };")
            // another app took it meanwhile
            _ = await rights.print(pageCount: 1, requestID: nil)
            try await browser.click("#open-print")
            try await browser.wait(until: "document.getElementById('print-sheet').open")
            try await browser.click("#print-form button[type=submit]")
            try await browser.wait(
                until: "document.getElementById('said').textContent.startsWith('This page may not be printed')"
            )
            #expect(try await browser.script("return window.printed").int == 0)
            #expect(try await paper(browser) == "Pages are printed with the reader’s own button.")
        }
    }

    @Test func `copy much after a question only`() async throws {
        let rights = CountedRights(characters: 100_000, pages: 1)
        var book = TestBook()
        book.chapters = [("a.xhtml", "<p>\(String(repeating: "Words ", count: 500))</p>")]
        try await withPage(rights, book) { page in
            let browser = page.browser
            try await browser.script(
                "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text.length); };"
            )
            try await page.select(String(repeating: "Words ", count: 400).dropLast().description)
            try await browser.inFrame("#page") { try await browser.press("c", holding: ["\u{E009}"]) }
            try await browser.wait(until: "document.getElementById('copy-sheet').open")
            #expect(try await browser.text("#copy-count").hasPrefix("2,39"))
            #expect(rights.charactersLeft == 100_000)
            try await browser.click("#copy-form button[data-close]")
            #expect(rights.charactersLeft == 100_000)
            try await browser.click("#selection-copy")
            try await browser.wait(until: "document.getElementById('copy-sheet').open")
            try await browser.click("#copy-form button[type=submit]")
            try await browser.wait(until: "document.getElementById('said').textContent === 'Copied.'")
            let copied = try #require(try await browser.script("return window.copied[0]").int)
            #expect(copied > 2000 && rights.charactersLeft == 100_000 - copied)
        }
    }

    @Test func `count what is copied from the page around`() async throws {
        let rights = CountedRights(characters: 1000, pages: 1)
        try await withPage(rights) { page in
            let browser = page.browser
            try await page.select("Sentence 5 of paragraph")
            try await browser.click("[data-color=green]")
            try await browser.click("#open-notes")
            try await browser.script(
                "getSelection().selectAllChildren(document.querySelector('#notes-list mark')); document.querySelector('#notes-sheet [data-close]').focus();"
            )
            try await browser.press("c", holding: ["\u{E009}"])
            try await browser.wait(until: "document.getElementById('said').textContent === 'Copied.'")
            #expect(rights.charactersLeft == 1000 - 23)
        }
    }

    @Test func `copy once for what the reader did`() async throws {
        let rights = CountedRights(characters: 1000, pages: 1)
        try await withPage(rights) { page in
            let browser = page.browser
            try await browser.grant("clipboard-read")
            // with the first message after the press the script asks for two copies, while the press counts
            _ = try await page.inDocument(
                """
                const post = MessagePort.prototype.postMessage;
                let hasAsked = false;
                MessagePort.prototype.postMessage = function (...all) {
                  post.apply(this, all);
                  if (hasAsked) return;
                  hasAsked = true;
                  for (const text of ['abcde', 'fghij']) post.call(this, { type: 'copy', text });
                };
                """
            )
            try await browser.script(
                """
                window.saidSoFar = [];
                const said = document.getElementById('said');
                new MutationObserver(() => window.saidSoFar.push(said.textContent)).observe(said, { childList: true, characterData: true, subtree: true });
                """
            )
            try await browser.click("#later")
            try await browser.wait(
                until:
                    "window.saidSoFar.includes('Copied.') && window.saidSoFar.some((one) => one.startsWith('Not copied a second time'))"
            )
            #expect(rights.charactersLeft == 995)
            try await browser.script("document.getElementById('said').textContent = ''")
            // the page's own button is the reader's hand
            try await page.select("Sentence 5 of paragraph")
            try await browser.click("#selection-copy")
            try await browser.wait(until: "document.getElementById('said').textContent === 'Copied.'")
            let copied = try await browser.script("return navigator.clipboard.readText()")
            #expect(copied == "Sentence 5 of paragraph" && rights.charactersLeft == 995 - 23)
        }
    }

    @Test func `copy again for what the reader did later, though the reader never paused`() async throws {
        let rights = CountedRights(characters: 1000, pages: 1)
        try await withPage(rights) { page in
            let browser = page.browser
            try await browser.grant("clipboard-read")
            func copy(_ text: String, said start: String) async throws {
                try await browser.script("document.getElementById('said').textContent = ''")
                try await page.select(text)
                try await browser.inFrame("#page") { try await browser.press("c", holding: ["\u{E009}"]) }
                try await browser.wait(until: "document.getElementById('said').textContent.startsWith('\(start)')")
            }
            // as if the reader acted all the time: what was done before the first copy counts on
            try await browser.script(
                "Object.defineProperty(navigator, 'userActivation', { value: { isActive: true } })"
            )
            try await copy("Sentence 5 of paragraph", said: "Copied.")
            try await copy("Sentence 6 of paragraph", said: "Not copied a second time")
            #expect(rights.charactersLeft == 1000 - 23)
            try await browser.script("const now = performance.now(); performance.now = () => now + 6000;")
            try await copy("Sentence 6 of paragraph", said: "Copied.")
            #expect(rights.charactersLeft == 1000 - 46)
            try await copy("Sentence 7 of paragraph", said: "Not copied a second time")
        }
    }
}
