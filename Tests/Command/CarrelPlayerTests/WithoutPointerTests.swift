// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The needs of users without a pointer, or who do not see the page.
struct `The listening page without a pointer` {
    private static let isPaused = "document.body.dataset.state === 'paused'"

    private func open(_ startScript: String = "") async throws -> (server: DemoServer, browser: Browser, page: String) {
        let server = try await DemoServer()
        let browser = try await Browser.start(.chromium)
        try await browser.addStartScript(startScript)
        let title = try #require(server.titles.first)
        let page = "\(server.url)/listen/\(title.order)"
        try await browser.open(page)
        return (server, browser, page)
    }

    private func end(_ server: DemoServer, _ browser: Browser) async {
        await browser.close()
        _ = await server.stop()
    }

    @Test func `moves the focus to what comes in the place of the player, and back`() async throws {
        let refuseSegments = """
            window.isRefusing = true;
            const real = window.fetch;
            window.fetch = (input, init) => {
              if (!window.isRefusing || !/\\/\\d+\\.(aac|mp3|ts|key)/.test(String(input?.url ?? input))) return real(input, init);
              const problem = JSON.stringify({ status: 403, code: 'order.concurrency', reason: 'concurrency', limit: 3 });
              return Promise.resolve(new Response(problem, { status: 403, headers: { 'Content-Type': 'application/problem+json' } }));
            };
            """
        let (server, browser, _) = try await open(refuseSegments)
        // no sound is asked for before
        try await browser.wait(until: Self.isPaused)
        try await browser.script("document.getElementById('play').focus()")
        try await browser.press("\u{E007}")
        try await browser.wait(until: "!document.getElementById('notice').hidden")
        #expect(try await browser.script("return document.activeElement.closest('#notice') !== null").bool == true)
        try await browser.script("window.isRefusing = false; document.querySelector('#notice button').focus()")
        try await browser.press("\u{E007}")
        try await browser.wait(until: "document.getElementById('notice').hidden")
        #expect(try await browser.script("return document.activeElement.id").string == "play")
        await end(server, browser)
    }

    @Test func `leaves the arrow keys to what scrolls, and has keys for the speed on every keyboard`() async throws {
        let (server, browser, _) = try await open()
        try await browser.wait(until: Self.isPaused)
        let passed = try await browser.script(
            """
            return [...document.querySelectorAll('[role=tabpanel]')].every((panel) => panel.tabIndex === 0
              && ['ArrowUp', 'ArrowDown'].every((key) => panel.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))));
            """
        )
        #expect(passed.bool == true)
        try await browser.press(",")
        #expect(try await browser.text("#speed-value") == "0.95×")
        try await browser.press(".")
        try await browser.press(".")
        #expect(try await browser.text("#speed-value") == "1.05×")
        await end(server, browser)
    }

    @Test func `does not begin to play for whom skipped to the player`() async throws {
        let (server, browser, page) = try await open()
        try await browser.wait(until: Self.isPaused)
        try await browser.script("document.querySelector('.skip-link').click()")
        #expect(try await browser.script("return location.hash").string == "#play")
        try await browser.reload()
        try await browser.wait(until: Self.isPaused)
        #expect(try await browser.script("return location.hash").string == "#play", "it was not taken for Continue")
        try await browser.open("\(server.url)/")
        try await browser.open("\(page)#continue")
        try await browser.wait(until: "location.hash === ''")
        await end(server, browser)
    }
}
