// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import Testing

/// Further actions of listeners on the pages, and the messages they see.
struct `Using the page` {
    private static let clock = "document.getElementById('audio').currentTime"
    private static let isPlaying = "document.body.dataset.state === 'playing'"

    private func start(_ kind: BrowserKind, _ options: [String] = []) async throws -> (DemoServer, Browser) {
        let server = try await DemoServer(options)
        let browser = try await Browser.start(kind)
        try await browser.open("\(server.url)/")
        try await browser.script("localStorage.setItem('carrel.volume', '0')")
        return (server, browser)
    }

    private func end(_ server: DemoServer, _ browser: Browser) async {
        await browser.close()
        _ = await server.stop()
    }

    /// How many listeners the server counts.
    private func listeners(_ server: DemoServer) async throws -> String {
        let text = try await checkProcess([
            "curl", "-sS", "--unix-socket", "\(server.home)/carrel.sock", "http://localhost/metrics",
        ])
        let line = text.split(separator: "\n").first { $0.hasPrefix("carrel_listeners ") }
        return String(line?.split(separator: " ").last ?? "")
    }

    @Test(arguments: BrowserKind.allCases)
    func `counts as listening from Play on, not before`(kind: BrowserKind) async throws {
        let (server, browser) = try await start(kind)
        let title = try #require(server.titles.first)
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await listeners(server) == "0")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
        #expect(try await listeners(server) == "1")
        await end(server, browser)
    }

    @Test func `says whose shelf it is, and lets only those sign out who signed in`() async throws {
        let (server, browser) = try await start(.chromium)
        try await browser.wait(until: "document.getElementById('account').textContent.includes('demo')")
        #expect(try await browser.script("return document.getElementById('sign-out').hidden").bool == true)
        let link = try await DemoServer.json([
            "account", "sign-in-link", "--home", server.home, "--url", server.url, "alice", "--json",
        ])
        let address = try #require(link["url"]?.string)
        try await browser.open(address)
        #expect(try await browser.text("h1") == "Sign in as alice")
        try await browser.click("form button")
        try await browser.wait(until: "document.getElementById('account')?.textContent.includes('alice')")
        #expect(try await browser.script("return document.getElementById('sign-out').hidden").bool == false)
        #expect(try await browser.text("#items").contains("Your shelf is empty"))
        try await browser.open(address)
        try await browser.wait(until: "document.querySelector('h1') !== null")
        #expect(try await browser.text("h1").contains("link"), "a link works once")
        try await browser.open("\(server.url)/")
        try await browser.wait(until: "document.getElementById('account')?.textContent.includes('alice')")
        try await browser.click("#sign-out")
        try await browser.wait(until: "document.getElementById('account')?.textContent.includes('demo')")
        await end(server, browser)
    }

    @Test func `finds nothing kindly`() async throws {
        let (server, browser) = try await start(.chromium)
        try await browser.open("\(server.url)/no/such/page")
        #expect(try await browser.text("h1") == "There is nothing here")
        let plain = try await checkProcess([
            "curl", "-sS", "-w", "%{http_code} %{content_type}", "-o", "/dev/null", "\(server.url)/no",
        ])
        #expect(plain == "404 application/problem+json")
        await end(server, browser)
    }

    @Test(arguments: BrowserKind.allCases)
    func `keeps bookmarks and jumps to them, to chapters and to earlier places`(kind: BrowserKind) async throws {
        let (server, browser) = try await start(kind)
        let title = try #require(server.titles.first)
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await browser.click("#panel-chapters li:nth-child(2) button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > \(title.chapters[1].start)")
        try await browser.click("#bookmark-open")
        try await browser.type("The best part", into: "#bookmark-note")
        try await browser.click("#bookmark-form button[type=submit]")
        try await Task.sleep(for: .seconds(6))
        try await browser.click("#play")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await browser.reload()
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await browser.click("#tab-bookmarks")
        try await browser.wait(until: "document.getElementById('panel-bookmarks').textContent.includes('The best part')")
        try await browser.click("#tab-places")
        try await browser.wait(until: "document.querySelectorAll('#panel-places li').length > 0")
        try await browser.click("#tab-bookmarks")
        try await browser.click("#panel-bookmarks li button")
        try await browser.wait(
            until: "\(Self.isPlaying) && Math.abs(\(Self.clock) - \(title.chapters[1].start)) < 6"
        )
        await end(server, browser)
    }

    @Test(arguments: BrowserKind.allCases)
    func `names every control for those who do not see it, and works by keyboard alone`(kind: BrowserKind) async throws {
        let (server, browser) = try await start(kind)
        let title = try #require(server.titles.first)
        for page in ["/", "/listen/\(title.order)"] {
            try await browser.open("\(server.url)\(page)")
            try await browser.wait(until: "document.querySelectorAll('#items li, .hero, #panel-chapters li').length > 0")
            let unnamed = try await browser.script(
                """
                const name = (e) => (e.getAttribute('aria-label')
                  || (e.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join('')
                  || [...(e.labels ?? [])].map((l) => l.textContent).join('') || e.textContent || e.title).trim();
                return [...document.querySelectorAll('button, a[href], input, textarea, select, dialog, [role]')]
                  .filter((e) => !['presentation', 'none', 'status', 'alert'].includes(e.getAttribute('role')))
                  .filter((e) => !e.closest('[hidden]') && !name(e)).map((e) => e.outerHTML.slice(0, 80));
                """
            )
            #expect(
                unnamed.array?.isEmpty == true,
                "\(unnamed.write().count > 0 ? String(decoding: unnamed.write(), as: UTF8.self) : "")"
            )
        }
        // every control that can be clicked is reached by the Tab key
        let lost = try await browser.script(
            "return [...document.querySelectorAll('button:not([role=tab]), a[href]')].filter((e) => e.offsetParent && e.tabIndex < 0).map((e) => e.id)"
        )
        #expect(lost.array?.isEmpty == true, "\(lost)")
        try await browser.press("k")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
        try await browser.press("k")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        await end(server, browser)
    }

    @Test func `needs the account's session where the operator says so`() async throws {
        let (server, browser) = try await start(.chromium, ["--stream-access", "session"])
        let title = try #require(server.titles.first)
        let link = try await DemoServer.json([
            "account", "sign-in-link", "--home", server.home, "--url", server.url, "demo", "--json",
        ])
        try await browser.open(try #require(link["url"]?.string))
        try await browser.click("form button")
        try await browser.wait(until: "document.getElementById('account')?.textContent.includes('demo')")
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.5")
        let mallory = try await DemoServer.json(["account", "token", "--home", server.home, "mallory", "--json"])
        let token = try #require(mallory["token"]?.string)
        let other = try await checkProcess([
            "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer \(token)",
            server.playlist(title),
        ])
        #expect(other == "404", "an order of somebody else does not exist")
        await end(server, browser)
    }
}
