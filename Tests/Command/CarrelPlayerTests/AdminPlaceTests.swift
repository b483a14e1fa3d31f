// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The administrators' page on a telephone and in haste, and what its overview counts.
struct `Administration` {
    @Test func `reaches every place at 360 pixels, by a finger and by keys`() async throws {
        let site = try await AdminSite(["--canned-users"])
        let browser = try await Browser.start(.chromium)
        try await browser.setWindowSize(width: 360, height: 740)
        try await site.setUp(browser)
        let places = try await browser.script(
            "return [...document.querySelectorAll('#places a')].map((link) => link.textContent)"
        )
        let names = (places.array ?? []).compactMap(\.string)
        #expect(names.count == 10)
        for name in names {
            #expect(try await browser.script("return document.getElementById('places-list').offsetHeight") == 0)
            try await browser.click("#places-open")
            let link = """
                [...document.querySelectorAll('#places a')].find((link) => link.textContent === arguments[0])
                """
            let box = try await browser.script(
                """
                const link = \(link), box = link.getBoundingClientRect();
                link.id = 'wanted';
                return [box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight,
                  document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2) === link, box.height >= 44];
                """,
                .string(name)
            )
            #expect(box == [true, true, true], "\(name)")
            if name == "Keys" { await AdminSite.keep(browser, "admin-places-360") }
            try await browser.click("#wanted")
            try await browser.wait(until: "document.getElementById('places-here').textContent === '\(name)'")
            #expect(
                try await browser.script("return document.getElementById('places-open').getAttribute('aria-expanded')") == "false"
            )
            try await browser.script("document.getElementById('wanted').removeAttribute('id')")
        }
        try await browser.script("document.getElementById('places-open').focus()")
        try await browser.press(BrowserKey.enter)
        try await browser.press(BrowserKey.tab)
        #expect(try await browser.script("return document.activeElement.textContent") == "Overview")
        try await browser.press(BrowserKey.escape)
        #expect(try await browser.script("return document.activeElement.id") == "places-open")
        #expect(try await browser.script("return document.getElementById('places-list').offsetHeight") == 0)
        await browser.close()
        await site.stop()
    }

    @Test func `counts who signs in by a browser, and who is refused`() async throws {
        let site = try await AdminSite()
        try await checkProcess(
            [DemoServer.program, "account", "create", "carol", "--password-stdin", "--home", site.home],
            input: Array(AdminSite.password.utf8)
        )
        let browser = try await Browser.start(.chromium)
        for password in ["wrong horse battery", AdminSite.password] {
            try await browser.open("\(site.url)/sign-in")
            try await browser.type("carol", into: "#name")
            try await browser.type(password, into: "#password")
            try await browser.press(BrowserKey.enter)
            try await browser.wait(until: "document.querySelector('[role=alert]:not([hidden])') || location.pathname === '/'")
        }
        try await site.setUp(browser)
        try await browser.wait(until: "document.querySelectorAll('.chart svg').length === 6")
        let tiles = try await browser.script(
            "return [...document.querySelectorAll('.tile')].map((tile) => `${tile.querySelector('dt').textContent} ${tile.querySelector('.tile-value').textContent}`)"
        )
        #expect(tiles.array?.contains("Sign-ins 2") == true, "carol, and anna by her link: \(tiles)")
        #expect(tiles.array?.contains("Refusals 1") == true)
        let legends = try await browser.script(
            "return [...document.querySelectorAll('.legend li')].map((item) => item.textContent)"
        )
        #expect(legends == ["browsers 2", "notrecognised 1"])
        await browser.close()
        await site.stop()
    }

    @Test func `shows what was searched for last in the audit log, though an older answer comes later`() async throws {
        let site = try await AdminSite()
        let browser = try await Browser.start(.chromium)
        // all that is asked without an action comes late, and hears of nothing that ends it
        try await browser.addStartScript(
            """
            const send = window.fetch;
            window.late = 0;
            window.fetch = async (path, options) => {
              if (!/v1.audit[?]/.test(path) || path.includes('staff.setup')) return send(path, options);
              await new Promise((done) => setTimeout(done, 1500));
              const answer = await send(path, { ...options, signal: undefined });
              window.late++;
              return answer;
            };
            """
        )
        try await site.setUp(browser)
        try await checkProcess([DemoServer.program, "account", "create", "carol", "--home", site.home])
        try await browser.script("location.hash = '#/audit'")
        // the first search waits still when the second is asked
        try await site.fill(browser, "audit", [("action", "account.create")])
        try await browser.clear("form[name=audit] [name=action]")
        try await site.fill(browser, "audit", [("action", "staff.setup")])
        try await browser.wait(until: "document.querySelectorAll('#audit tbody tr').length === 1")
        try await browser.wait(until: "window.late >= 2")
        try await Task.sleep(for: .milliseconds(300))
        let shown = try await browser.script(
            "return [...document.querySelectorAll('#audit tbody code')].map((code) => code.textContent)"
        )
        #expect(shown.array?.contains("staff.setup") == true && shown.array?.contains("account.create") == false, "\(shown)")
        await browser.close()
        await site.stop()
    }
}
