// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Ebooks, PDF files and editions of pages on the bookshelf next to audiobooks, in a real browser on a real server.
struct `The bookshelf of a reader` {
    private struct Library {
        let server: DemoServer
        let files = TemporaryDirectory()

        /// The demo titles, a magazine of the reader's and one that is not, an ebook and a PDF file that are free.
        init(_ options: [String] = []) async throws {
            server = try await DemoServer(options)
            let cover = files.file("cover.png")
            try await checkProcess(
                [
                    try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=300x400:d=1", "-frames:v", "1",
                    cover,
                ]
            )
            files.write("index.html", "<!doctype html><html lang=en><title>The Quarterly</title><h1>Read me</h1></html>")
            try await checkProcess([try requirePeer("zip"), "-qj", files.file("issue.zip"), files.file("index.html"), cover])
            try await add(files.file("issue.zip"), "com.example.summer", "paid", ["--cover", cover, "--issued", "2026-07-01"])
            try await add(pdf("Not Mine"), "com.example.secret", "paid")
            try await add(pdf("Annual Report <1>"), "report", "free")
            try await carrel("plan", "give", "demo", "com.example.summer")
        }

        func carrel(_ arguments: String...) async throws { try await carrel(arguments) }

        func add(_ file: String, _ product: String, _ price: String, _ options: [String] = []) async throws {
            try await carrel(["ingest", file, "--product-id", product, "--price", price] + options)
        }

        func pdf(_ title: String) -> String {
            files.write(
                "x.pdf",
                """
                %PDF-1.4
                1 0 obj << /Type /Catalog >> endobj
                2 0 obj << /Title (\(title)) /Author (The Board) >> endobj
                trailer << /Root 1 0 R /Info 2 0 R >>
                %%EOF

                """
            )
        }

        private func carrel(_ arguments: [String]) async throws {
            try await checkProcess([DemoServer.program] + arguments + ["--home", server.home])
        }
    }

    private static let shown = "[...document.querySelectorAll('#editions li')].filter((e) => !e.hidden)"

    private func titles(_ browser: Browser) async throws -> [String] {
        let found = try await browser.script("return \(Self.shown).map((e) => e.querySelector('h3').textContent)")
        return found.array?.compactMap(\.string) ?? []
    }

    @Test func `shows publications next to audiobooks, and opens them`() async throws {
        let library = try await Library()
        let browser = try await Browser.start(.chromium)
        try await browser.open("\(library.server.url)/")
        try await browser.wait(until: "\(Self.shown).length === 2")
        #expect(try await titles(browser) == ["Annual Report <1>", "The Quarterly"], "the newest issue first")
        #expect(
            try await browser.script("return document.querySelectorAll('#items li').length").int == library.server.titles.count
        )
        #expect(try await browser.text("#reading-heading") == "To read 2")
        let cards = try await browser.text("#editions")
        #expect(cards.contains("Open PDF · 1\u{a0}KB") && cards.contains("The Board") && cards.contains("Read · July 1, 2026"))
        try await browser.wait(until: "document.querySelector('#editions img').naturalWidth === 300")
        // What a click does is said with the link's name.
        let described = try await browser.script(
            "return \(Self.shown).map((e) => document.getElementById(e.querySelector('a').getAttribute('aria-describedby')).textContent)"
        )
        #expect(described.array?.count == 2 && described.array?.allSatisfy { $0.string?.isEmpty == false } == true)

        try await browser.click("#editions li:nth-child(2) a")
        try await browser.wait(
            until: "location.pathname === '/editions/com.example.summer/' && document.title === 'The Quarterly'"
        )
        #expect(try await browser.text("h1") == "Read me")
        try await browser.open("\(library.server.url)/editions/com.example.secret/")
        #expect(try await browser.text("body") == "You are not authorized to view this page.")

        try await library.carrel("edition", "withdraw", "com.example.summer")
        try await Task.sleep(for: .milliseconds(1100))
        try await browser.open("\(library.server.url)/")
        try await browser.wait(until: "\(Self.shown).length === 1")
        await browser.close()
        _ = await library.server.stop()
    }

    @Test(arguments: [BrowserOptions.ColorScheme.light, .dark])
    func `fits a phone and a desk with many, a page at a time, and is searched as a whole`(
        scheme: BrowserOptions.ColorScheme
    ) async throws {
        let library = try await Library()
        for number in 1...62 { try await library.add(library.pdf("Paper number \(number)"), "paper-\(number)", "free") }
        let browser = try await Browser.start(.chromium, BrowserOptions(colorScheme: scheme))
        for width in [360, 1440] {
            try await browser.setWindowSize(width: width, height: 720)
            try await browser.open("\(library.server.url)/")
            try await browser.wait(until: "\(Self.shown).length === 60")
            let overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            #expect(try await browser.script(overflow).int == 0)
            #expect(try await browser.script("return document.getElementById('more').offsetHeight").int ?? 0 >= 44)
            try await browser.click("#more")
            try await browser.wait(until: "\(Self.shown).length === 64")
            #expect(try await browser.script("return document.getElementById('more').hidden").bool == true)
            #expect(
                try await browser.script("return document.activeElement === document.querySelectorAll('#editions a')[60]").bool
                    == true,
                "the keyboard goes on at the first of those that came"
            )
        }
        try await browser.reload()
        try await browser.wait(until: "\(Self.shown).length === 60")
        try await browser.type("quarterly", into: "#find")
        try await browser.wait(until: "document.getElementById('found').textContent === '1 title'")
        #expect(try await titles(browser) == ["The Quarterly"], "it is on the second page")
        try await browser.type("zzz", into: "#find")
        try await browser.wait(until: "document.getElementById('found').textContent.includes('Nothing')")
        let errors = try await browser.messages().filter(\.isError)
        #expect(errors.isEmpty, "\(errors)")
        await browser.close()
        _ = await library.server.stop()
    }
}
