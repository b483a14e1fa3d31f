// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The bookshelf with titles as they come: long words, other scripts, numbers, and loans that are over.
struct `The bookshelf` {
    private static let word =
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftspräsidentenwitwenverein"

    /// A server with the titles that are given, each ordered by the demo reader; the ids of the orders.
    private func start(
        _ titles: [(title: String, language: String)],
        _ order: [String] = []
    ) async throws -> (DemoServer, [String]) {
        let server = try await DemoServer([])
        for title in server.titles {
            try await checkProcess([DemoServer.program, "order", "revoke", title.order, "--home", server.home])
        }
        var orders: [String] = []
        for (number, title) in titles.enumerated() {
            let file = server.directory.file("\(number).mp3")
            try await checkProcess([
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "sine=frequency=\(200 + number * 50):duration=20",
                file,
            ])
            let taken = try await DemoServer.json([
                "ingest", file, "--home", server.home, "--title", title.title, "--author", title.title, "--language",
                title.language, "--json",
            ])
            let id = try #require((taken["titles"]?.array?.first ?? taken)["id"]?.string)
            let made = try await DemoServer.json(
                ["order", "create", "--home", server.home, "--title", id, "--account", "demo", "--json"] + order
            )
            orders.append(try #require(made["id"]?.string))
        }
        return (server, orders)
    }

    @Test(arguments: [BrowserOptions.ColorScheme.light, .dark])
    func `fits 360 pixels with a long word in what was heard last`(scheme: BrowserOptions.ColorScheme) async throws {
        let (server, orders) = try await start([(Self.word, "deu"), (Self.word, "English"), ("ספר על שולחן", "heb")])
        let report: JSON = [
            [
                "id": .string(orders[0]), "startUtc": "2026-01-02T10:00:00Z", "endUtc": "2026-01-02T10:00:10Z",
                "startPosition": 0, "endPosition": 10,
            ]
        ]
        let reported = try await checkProcess([
            "curl", "-sS", "-H", "Content-Type: application/json", "-d", String(decoding: report.write(), as: UTF8.self),
            "\(server.url)/v2/states/",
        ])
        #expect(reported.contains("\"accepted\":1"))
        let browser = try await Browser.start(.chromium, BrowserOptions(colorScheme: scheme))
        for width in [360, 1440] {
            try await browser.setWindowSize(width: width, height: 740)
            try await browser.open("\(server.url)/")
            try await browser.wait(
                until: "document.querySelector('.hero h3') && document.querySelectorAll('#items .card').length === 2"
            )
            let overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            #expect(try await browser.script(overflow) == 0)
            await AdminSite.keep(browser, "shelf-\(width)-\(scheme.rawValue)", wholePage: true)
            let titles = try await browser.script(
                "return [...document.querySelectorAll('h3')].filter((h) => !h.closest('#past')).map((h) => [h.lang, h.dir, getComputedStyle(h).direction])"
            )
            #expect(titles == [["de", "auto", "ltr"], ["", "auto", "ltr"], ["he", "auto", "rtl"]])
            try await browser.open("\(server.url)/listen/\(orders[0])")
            try await browser.wait(until: "document.getElementById('title').textContent.startsWith('Donau')")
            #expect(try await browser.script(overflow) == 0)
            #expect(
                try await browser.script("return [document.getElementById('title').lang, document.getElementById('title').dir]")
                    == ["de", "auto"]
            )
        }
        await browser.close()
        _ = await server.stop()
    }

    @Test func `sorts titles as people do`() async throws {
        let (server, _) = try await start(["Book 10", "book 2", "Äpfel", "Book 1"].map { ($0, "en") })
        let browser = try await Browser.start(.chromium)
        try await browser.open("\(server.url)/")
        try await browser.wait(until: "document.querySelectorAll('#items .card').length === 4")
        let titles = try await browser.script("return [...document.querySelectorAll('#items h3')].map((h) => h.textContent)")
        #expect(titles == ["Äpfel", "Book 1", "book 2", "Book 10"])
        await browser.close()
        _ = await server.stop()
    }

    @Test func `reports ended loans on the shelf, next to the player and in the account's history`() async throws {
        let (server, orders) = try await start(
            [("A loan", "en")],
            ["--kind", "loan", "--start", "2024-01-01T00:00:00Z", "--end", "2024-02-01T00:00:00Z"]
        )
        let browser = try await Browser.start(.chromium)
        try await browser.open("\(server.url)/")
        try await browser.wait(until: "document.querySelector('.empty-title') !== null")
        #expect(try await browser.script("return document.getElementById('past').open").bool == true)
        let past = try await browser.text("#past-items")
        #expect(past.contains("Loan ended") && past.contains("2024") && past.contains("Withdrawn"))
        try await browser.open("\(server.url)/listen/\(orders[0])")
        try await browser.wait(until: "document.getElementById('panel-about').textContent.includes('Loan ended')")
        #expect(try await browser.text("#panel-about").contains("now") == false)

        // what was heard by it, as the account's own page tells
        let link = try await DemoServer.json([
            "account", "sign-in-link", "--home", server.home, "--url", server.url, "demo", "--json",
        ])
        let heard = try await DemoServer.json([
            "order", "create", "--home", server.home, "--title", server.titles[0].id, "--account", "demo", "--json",
        ])
        let order = try #require(heard["id"]?.string)
        let report = """
            [{"id":"\(order)","startUtc":"2026-01-02T10:00:00Z","endUtc":"2026-01-02T10:00:10Z","startPosition":0,"endPosition":10}]
            """
        _ = try await checkProcess([
            "curl", "-sS", "-H", "Content-Type: application/json", "-d", report, "\(server.url)/v2/states/",
        ])
        try await checkProcess([DemoServer.program, "order", "revoke", order, "--home", server.home])
        try await browser.open(try #require(link["url"]?.string))
        try await browser.click("form button")
        try await browser.wait(until: "document.getElementById('account')?.textContent.includes('demo')")
        try await browser.open("\(server.url)/account")
        try await browser.wait(until: "document.getElementById('history').textContent.includes('order withdrawn')")
        await browser.close()
        _ = await server.stop()
    }

    @Test func `keeps a bookmark that was made while the list was on its way`() async throws {
        let page = try await ListeningPage(
            .chromium,
            startScript: """
                const send = window.fetch;
                window.lists = 0;
                window.fetch = async (path, options) => {
                  const answer = await send(path, options?.method === 'GET' || !options?.method ? { ...options, signal: undefined } : options);
                  if (!/bookmarks$/.test(path) || options?.method === 'POST') return answer;
                  const isFirst = window.lists++ === 0;
                  if (isFirst) await new Promise((done) => setTimeout(done, 1500));
                  return answer;
                };
                """,
            isSignedIn: true
        )
        let browser = page.browser
        try await browser.click("#tab-bookmarks")
        try await browser.click("#bookmark-open")
        try await browser.type("A place", into: "#bookmark-note")
        try await browser.click("#bookmark-form button[type=submit]")
        try await browser.wait(until: "document.getElementById('panel-bookmarks').textContent.includes('A place')")
        try await Task.sleep(for: .milliseconds(1800))
        #expect(try await browser.text("#panel-bookmarks").contains("A place"))
        await page.end()
    }

    @Test func `says in Firefox that there is no sound device`() async throws {
        let server = try await DemoServer([])
        let browser = try await Browser.start(.firefox, BrowserOptions(lacksSound: true))
        let title = try #require(server.titles.first)
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: ListeningPage.isPaused)
        try await browser.click("#play")
        try await browser.wait(until: "!document.getElementById('notice').hidden")
        #expect(try await browser.text("#notice").contains("No sound output"))
        await browser.close()
        _ = await server.stop()
    }
}
