// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The README's pictures of the pages. `SCREENSHOTS=docs/images swift test --filter PictureTests` renders them again.
struct `The pictures of the README` {
    @Test func `show the listening page while it plays, and the administrators' page while it explains`() async throws {
        let server = try await DemoServer()
        let browser = try await Browser.start(.chromium)
        try await browser.setWindowSize(width: 1200, height: 800)
        let title = try #require(server.titles.first { $0.chapters.count == 4 })
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: "document.querySelectorAll('#panel-chapters li').length === 4")
        try await browser.script("localStorage.setItem('carrel.volume', '0')")
        try await browser.press(" ")
        try await browser.wait(until: "document.getElementById('audio').currentTime > 4")
        #expect(try await browser.script("return document.body.dataset.state") == "playing")
        await AdminSite.keep(browser, "listening")
        try await browser.setWindowSize(width: 1200, height: 1010)

        func carrel(_ words: String...) async throws {
            try await checkProcess([DemoServer.program] + words + ["--home", server.home])
        }
        let now = Instant.now()
        try await checkProcess(["mkdir", server.directory.file("issue")])
        server.directory.write("issue/index.html", "<!doctype html><title>The Harbour Review, spring</title>")
        try await carrel("ingest", server.directory.file("issue"), "--product-id", "com.example.harbour-7", "--price", "paid")
        try await carrel("account", "create", "ada@example.org", "--device-limit", "5")
        try await carrel("plan", "create", "harbour", "--scope", "issues", "--grace-issues", "2")
        try await carrel("plan", "grant", "ada@example.org", "harbour", "--start", (now + .seconds(-86_400 * 90)).description)
        let link = try await checkProcess([DemoServer.program, "admin", "setup-link", "--url", server.url, "--home", server.home])
        try await browser.open(link.filter { !$0.isWhitespace })
        try await AdminSite.fill(
            browser,
            "setup",
            [("name", "anna"), ("password", AdminSite.password), ("again", AdminSite.password)]
        )
        try await browser.wait(until: "document.getElementById('who-name').textContent.includes('anna')")
        try await browser.script("location.hash = '#/accounts'")
        try await browser.wait(until: "document.getElementById('accounts')?.textContent.includes('ada@')")
        try await browser.script(
            "[...document.querySelectorAll('#accounts a')].find((a) => a.textContent.startsWith('ada')).click()"
        )
        // The list of accounts has a form of that name, too.
        try await browser.wait(until: "document.querySelector('h1').textContent === 'ada@example.org'")
        try await AdminSite.fill(browser, "explain", [("product", "com.example.harbour-7")])
        try await browser.wait(until: "document.getElementById('explanation').textContent.includes('granted')")
        try await browser.script(
            "document.getElementById('said').textContent = ''; document.activeElement.blur(); scrollTo(0, 0)"
        )
        await AdminSite.keep(browser, "administration")
        await browser.close()
        _ = await server.stop()
    }
}
