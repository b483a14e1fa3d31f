// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

@testable import CarrelWebReader

/// The web reader in a real browser, on a publication that the test made.
final class ReaderPage: Sendable {
    static let isReady = "document.documentElement.dataset.state === 'ready'"

    let browser: Browser
    let folder: String
    let address: String
    let publication: Publication
    private let reader: WebReader
    private let client = HTTPClient()

    init(_ publication: Publication, browser: Browser, folder: String, poppler: Poppler = Poppler()) async throws {
        self.publication = publication
        self.browser = browser
        self.folder = folder
        reader = try await WebReader(publication, folder: folder, poppler: poppler)
        address = try reader.start()
    }

    /// Starts a browser with a window of that size, does something with it and closes it.
    static func withBrowser(
        _ options: BrowserOptions = BrowserOptions(),
        kind: BrowserKind = .chromium,
        width: Int = 1000,
        height: Int = 760,
        _ body: (Browser) async throws -> Void
    ) async throws {
        let browser = try await Browser.start(kind, options)
        do {
            try await browser.setWindowSize(width: width, height: height)
            try await body(browser)
        } catch {
            await browser.close()
            throw error
        }
        await browser.close()
    }

    /// Opens the page, and does something with it; closes everything afterwards but the browser.
    static func with(
        _ publication: Publication,
        _ browser: Browser,
        folder: String,
        poppler: Poppler = Poppler(),
        _ body: (ReaderPage) async throws -> Void
    ) async throws {
        let page = try await ReaderPage(publication, browser: browser, folder: folder, poppler: poppler)
        do {
            try await browser.open(page.address)
            try await browser.wait(until: isReady)
            try await body(page)
        } catch {
            await page.close()
            throw error
        }
        await page.close()
    }

    private func close() async {
        // what waits to be kept is kept
        try? await browser.open("about:blank")
        await reader.stop()
        publication.close()
    }

    /// The secret of the reader's own routes.
    var control: String { String(address.split(separator: "/")[3]) }
    var origin: String { "http://\(address.split(separator: "/")[1])" }

    /// Runs a script in the document of the publication.
    func inDocument(_ script: String, _ arguments: JSON...) async throws -> JSON {
        let argument = arguments.first ?? .null
        return try await browser.inFrame("#page") { try await browser.script(script, argument) }
    }

    /// Waits until a script in the document returns true.
    func waitInDocument(until expression: String) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try await inDocument("return !!(\(expression))").bool != true {
            guard ContinuousClock.now < deadline else { throw BrowserFailure("\(expression) was not true") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Selects the first occurrence of a text in the document, as a mouse would.
    func select(_ text: String) async throws {
        _ = try await inDocument(
            """
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
              const at = walker.currentNode.data.indexOf(arguments[0]);
              if (at >= 0) { getSelection().setBaseAndExtent(walker.currentNode, at, walker.currentNode, at + arguments[0].length); return; }
            }
            """,
            .string(text)
        )
        try await browser.wait(until: "!document.getElementById('selection').hidden")
    }

    /// Waits until the document is laid out in pages for the size that the window has now.
    func waitForLayout() async throws {
        let stage = try await browser.script(
            "const { clientWidth, clientHeight } = document.getElementById('stage'); return [clientWidth, clientHeight, innerWidth];"
        )
        let sizes = try #require(stage.array).compactMap(\.int)
        try #require(sizes.count == 3)
        let columns = sizes[0] >= 1100 ? 2 : 1
        let margin = sizes[2] < 600 ? 20 : 40
        try await waitInDocument(
            until: """
                innerWidth === \(sizes[0]) && innerHeight === \(sizes[1])
                  && getComputedStyle(document.documentElement).columnCount === '\(columns)'
                  && getComputedStyle(document.body).paddingInlineStart === '\(margin)px'
                """
        )
        // the document hears of its new size before it draws the next frame
        _ = try await inDocument(
            "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )
    }

    struct BrowserFailure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// Words of the document as the window shows them: the number of the first one and the text from there.
    struct Seen: Equatable {
        let first: Int
        let last: Int
        let text: String
    }

    func seen() async throws -> Seen {
        let found = try await inDocument(Self.seenScript)
        return Seen(first: found["first"]?.int ?? -1, last: found["last"]?.int ?? -1, text: found["text"]?.string ?? "")
    }

    private static let seenScript = """
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        let number = 0, first = -1, last = -1; const words = [];
        while (walker.nextNode()) {
          const node = walker.currentNode;
          if (node.parentElement.closest('[data-hidden]')) continue;
          for (const match of node.data.matchAll(/\\S+/g)) {
            number++;
            const range = document.createRange();
            range.setStart(node, match.index); range.setEnd(node, match.index + match[0].length);
            const box = range.getClientRects()[0];
            if (!box || box.left < 0 || box.right > innerWidth + 1 || box.top < 0 || box.bottom > innerHeight + 1) continue;
            if (first < 0) first = number;
            last = number; words.push(match[0]);
          }
        }
        return { first, last, text: words.join(' ') };
        """

    /// The record stored by the server.
    func record() async throws -> JSON {
        let response = try await client.send(ClientRequest(.get, address + "book"))
        let bytes = response.body
        return try #require(try JSON.parse(bytes.rawSpan)["record"])
    }

    /// The reader's preferences stored by the server.
    func preferences() async throws -> JSON {
        let bytes = try await client.send(ClientRequest(.get, address + "book")).body
        return try #require(try JSON.parse(bytes.rawSpan)["preferences"])
    }

    /// Notes, from the start of each page on, which places are sent to the server.
    static func notePlaces(_ browser: Browser) async throws {
        try await browser.addStartScript(
            """
            if (self === top) {
              const send = window.fetch;
              window.sentPlaces = [];
              window.fetch = (path, options) => { if (path === 'place') window.sentPlaces.push(JSON.parse(options.body)); return send(path, options); };
            }
            """
        )
    }

    /// The places that were sent so far, with the one that would be when the page goes.
    func sentPlaces() async throws -> [JSON] {
        let sent = try await browser.script("dispatchEvent(new Event('pagehide')); return window.sentPlaces")
        return try #require(sent.array)
    }

    /// Waits until the server keeps a place that fits.
    func waitForPlace(_ fits: (JSON) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if let place = try await record()["place"], fits(place) { return }
            guard ContinuousClock.now < deadline else { throw BrowserFailure("the place was not kept") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
