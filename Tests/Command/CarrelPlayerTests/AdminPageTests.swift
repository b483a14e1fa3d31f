// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The administrator's page in a real browser, on a real server.
struct `The page at admin` {
    @Test func `leads from the setup link to an account that may read, and the log says so`() async throws {
        let site = try await AdminSite()
        for text in [site.server.output, site.server.errors] {
            #expect(!text.contains("setup="), "nothing reads it but a terminal")
        }
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        #expect(try await browser.script("return location.hash").string?.contains("setup") == false)
        try await site.go(browser, "accounts", until: "New account")
        try await site.fill(browser, "create-account", [("name", "carol"), ("password", AdminSite.password)])
        try await browser.wait(until: "document.querySelector('h1').textContent === 'carol'")
        let account = try #require(try await browser.script("return location.hash").string)
        try await site.go(browser, "plans", until: "New plan")
        try await site.fill(browser, "create-plan", [("name", "gold")])
        try await browser.wait(until: "document.querySelector('tbody')?.textContent.includes('gold')")
        try await site.go(browser, "\(account.dropFirst(2))/holdings", until: "Edition credentials")
        try await site.fill(browser, "grant", [])
        try await browser.wait(until: "document.querySelector('tbody')?.textContent.includes('no end')")
        try await site.go(browser, String(account.dropFirst(2)), until: "Explain access")
        try await site.fill(browser, "explain", [("product", "com.example.issue-7")])
        try await browser.wait(until: "document.getElementById('explanation').textContent.includes('notentitled')")
        try await site.go(browser, "audit", until: "account.create")
        try await browser.wait(until: "document.getElementById('audit').textContent.includes('account.create')")
        let entries = try await browser.text("#audit")
        for action in ["staff.setup", "account.create", "plan.create", "subscription.create"] {
            #expect(entries.contains(action), "\(action)")
        }
        try await browser.click("section.card button")
        try await browser.wait(until: "document.getElementById('seals').textContent.includes('all seals match')")
        try await site.go(browser, "sessions", until: "this page")
        try await site.go(browser, "keys", until: "Master key")
        try await browser.click("#rotate-master")
        try await browser.click("#question-yes")
        try await browser.wait(until: "document.getElementById('view').textContent.includes('Version 2 wraps')")
        for place in ["orders", "catalog", "staff", "health"] { try await site.go(browser, place, until: "") }
        try await browser.wait(until: "document.querySelectorAll('.chart svg').length === 6")
        try await browser.click("#sign-out")
        try await browser.wait(until: "document.querySelector('form[name=sign-in]') !== null")
        let state = try await browser.asyncScript(
            "const done = arguments[arguments.length - 1]; fetch('/admin/v1/accounts').then((r) => done(r.status));"
        )
        #expect(state.int == 401)
        // The page is open already: the link only changes the text after the #.
        try await browser.open(site.link)
        try await site.fill(browser, "setup", [("name", "eve"), ("password", AdminSite.password), ("again", AdminSite.password)])
        try await browser.wait(until: "document.querySelector('[role=alert]')?.textContent.includes('was used or has expired')")
        let trouble = try await browser.messages().filter { !$0.text.contains("status of 40") }
        #expect(trouble.isEmpty, "\(trouble)")
        await browser.close()
        await site.stop()
    }

    @Test func `runs no script that is not ours, and obeys no page of another origin`() async throws {
        let site = try await AdminSite()
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        let ran = try await browser.script(
            """
            const script = document.createElement('script');
            let refused = false;
            try { script.textContent = 'window.inlineRan = true'; } catch { refused = true; }
            document.body.append(script);
            try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.inlineRan = true">'); } catch { refused = true; }
            const link = document.createElement('a');
            try { link.setAttribute('onclick', 'window.inlineRan = true'); } catch { refused = true; }
            document.body.append(link);
            link.click();
            return [window.inlineRan === true, refused];
            """
        )
        #expect(ran.array?.first?.bool == false)
        #expect(ran.array?.last?.bool == true, "markup from strings is refused too")
        let head = try await checkProcess(["curl", "-sS", "-D", "-", "-o", "/dev/null", "\(site.url)/admin/"]).lowercased()
        #expect(head.contains("content-security-policy: default-src 'self';"))
        #expect(head.contains("frame-ancestors 'none'"))
        #expect(!head.contains("unsafe"))
        #expect(head.contains("cache-control: no-store"))
        // The same address by another name is another origin, whose page sends the cookie's owner along.
        let port = site.url.split(separator: ":").last ?? ""
        try await browser.open("http://localhost:\(port)/admin/")
        let statuses = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            const url = '\(site.url)/admin/v1/accounts';
            const send = (init) => fetch(url, { method: 'POST', credentials: 'include', ...init }).then((r) => r.status, () => 'blocked');
            Promise.all([
              send({ mode: 'no-cors', body: '{"name":"mallory"}' }),
              send({ headers: { 'X-Carrel-Admin': 'page', 'Content-Type': 'application/json' }, body: '{"name":"mallory"}' }),
            ]).then(done);
            """
        )
        #expect(statuses.array?.last?.string == "blocked")
        let listed = try await DemoServer.json(["account", "list", "--home", site.home, "--json"])
        #expect(listed["accounts"]?.array?.map { $0["name"]?.string } == ["anna"])
        await browser.close()
        await site.stop()
    }

    @Test func `shows support what support may do`() async throws {
        let site = try await AdminSite()
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        try await site.go(browser, "accounts", until: "New account")
        try await site.fill(browser, "create-account", [("name", "sue")])
        try await browser.wait(until: "document.querySelector('h1').textContent === 'sue'")
        try await checkProcess([DemoServer.program, "admin", "role", "sue", "support", "--home", site.home])
        try await checkProcess(
            [DemoServer.program, "account", "password", "sue", "--home", site.home],
            input: Array(AdminSite.password.utf8)
        )
        try await browser.click("#sign-out")
        try await site.fill(browser, "sign-in", [("name", "sue"), ("password", AdminSite.password)])
        try await browser.wait(until: "document.getElementById('who-name').textContent.includes('support')")
        let places = try await browser.text("#places")
        for place in ["Overview", "Accounts", "Sessions", "Plans", "Orders", "Titles"] {
            #expect(places.contains(place), "\(place)")
        }
        for place in ["Audit", "Keys", "Staff", "Canned"] { #expect(!places.contains(place), "\(place)") }
        let refused = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            const init = { method: 'POST', headers: { 'X-Carrel-Admin': 'page' } };
            fetch('/admin/v1/master-key/rotate', init).then((r) => done(r.status));
            """
        )
        #expect(refused.int == 403)
        try await browser.script("location.hash = '#/keys'")
        try await browser.wait(until: "document.querySelector('h1').textContent === 'Page not found'")
        await browser.close()
        await site.stop()
    }

    @Test func `refuses sign-in over an unencrypted connection`() async throws {
        let site = try await AdminSite(["--http-allowed-hosts", "carrel.example"])
        var options = BrowserOptions()
        options.loopbackNames = ["carrel.example"]
        let browser = try await Browser.start(.chromium, options)
        let port = site.url.split(separator: ":").last ?? ""
        try await browser.open("http://carrel.example:\(port)/admin/")
        try await browser.wait(until: "document.querySelector('h1')?.textContent === 'This connection is not encrypted'")
        #expect(try await browser.script("return document.querySelectorAll('#view input').length").int == 0)
        #expect(try await browser.text("#view").contains("TLS"))
        await browser.close()
        await site.stop()
    }

    @Test func `checks every canned user against this server`() async throws {
        let site = try await AdminSite(["--canned-users"])
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        try await site.go(browser, "canned", until: "Console")
        try await browser.click("section.card button")
        try await browser.wait(
            until: "document.getElementById('canned-verdict').textContent.startsWith('All green')",
            timeout: .seconds(60)
        )
        #expect(try await browser.script("return document.querySelectorAll('#canned .mark-bad').length").int == 0)
        let command = [DemoServer.program, "check-canned-users", "--home", site.home]
        let answer = try await checkProcess(command, timeout: .seconds(60))
        #expect(answer.contains("every call as expected"), "asking twice is nobody guessing passwords")
        await browser.close()
        await site.stop()
    }

    @Test func `rotates and voids what editions are downloaded with, and the log says so`() async throws {
        let site = try await AdminSite()
        try await checkProcess([DemoServer.program, "account", "create", "alice", "--home", site.home])
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        /// Presses a button, confirms, and waits for the message.
        func press(_ selector: String, until said: String) async throws {
            try await browser.script("document.getElementById('said').textContent = ''")
            // the view is rendered again after each
            try await browser.wait(until: "document.querySelector('\(selector)') !== null")
            try await browser.click(selector)
            try await browser.click("#question-yes")
            try await browser.wait(until: "document.getElementById('said').textContent.includes('\(said)')")
        }
        try await site.go(browser, "keys", until: "Edition credentials")
        try await press("#rotate-credential", until: "signs from")
        try await press("#rotate-credential-at-once", until: "signs from")
        try await press("#rotate-ticket-at-once", until: "signs from")
        try await press("#void-all", until: "Revoked all credentials")
        try await browser.type("com.example.7", into: "form[name=revoke-product] [name=product]")
        try await press("form[name=revoke-product] button", until: "Revoked the credentials for com.example.7")
        try await site.go(browser, "accounts", until: "alice")
        try await browser.click("#accounts tbody tr:nth-child(1) a")
        try await browser.wait(until: "document.querySelector('h1').textContent === 'alice'")
        let account = try #require(try await browser.script("return location.hash.slice(2)").string)
        try await site.go(browser, "\(account)/holdings", until: "Edition credentials")
        try await press("#void-credentials", until: "Revoked the credentials of alice")
        try await site.go(browser, "audit", until: "credentials.rotate")
        let entries = try await browser.text("#audit")
        for action in ["credentials.rotate", "credentials.revoke", "ticket-key.rotate"] {
            #expect(entries.contains(action), "\(action)")
        }
        await browser.close()
        await site.stop()
    }

    @Test func `draws what happened, and says it in tables too`() async throws {
        let site = try await AdminSite()
        for attempt in 0..<3 {
            _ = try await runProcess(["curl", "-sS", "\(site.url)/sign_in/?username=nobody&password=\(attempt)"])
        }
        let browser = try await Browser.start(.chromium)
        try await site.setUp(browser)
        try await browser.wait(until: "document.querySelectorAll('.chart svg').length === 6")
        let refusals = try await browser.script(
            """
            const figure = [...document.querySelectorAll('.chart')].find((one) => one.textContent.includes('Refusals'));
            figure.querySelector('summary').click();
            const cells = [...figure.querySelectorAll('thead th, tbody td')].map((cell) => cell.textContent);
            const svg = figure.querySelector('svg');
            return [svg.getAttribute('role'), svg.getAttribute('aria-label'), figure.querySelector('caption').textContent,
              cells.join(' '), String(figure.querySelectorAll('rect').length)];
            """
        )
        let said = (refusals.array ?? []).compactMap(\.string)
        #expect(said.count == 5 && said[0] == "img" && said[2] == "Refusals, by reason")
        #expect(said.count == 5 && said[1].hasPrefix("Refusals, by reason: 3 from "), "\(said)")
        #expect(said.count == 5 && said[3] == "When notrecognised In all 3 3" && said[4] == "1", "\(said)")
        await browser.close()
        await site.stop()
    }

    @Test(arguments: [(360, BrowserOptions.ColorScheme.light), (360, .dark), (1440, .light), (1440, .dark)])
    func `fits its window, and every control has a name`(width: Int, scheme: BrowserOptions.ColorScheme) async throws {
        let site = try await AdminSite(["--canned-users"])
        var options = BrowserOptions()
        options.colorScheme = scheme
        let browser = try await Browser.start(.chromium, options)
        try await browser.setWindowSize(width: width, height: 900)
        try await site.setUp(browser)
        for name in ["alice", "a-reader-with-a-name-that-goes-on-and-on@a-long-domain.example.org"] {
            try await checkProcess([DemoServer.program, "account", "create", name, "--home", site.home])
        }
        try await checkProcess([DemoServer.program, "plan", "create", "gold", "--home", site.home])
        try await checkProcess([DemoServer.program, "plan", "grant", "alice", "gold", "--home", site.home])
        for attempt in 0..<3 {
            _ = try await runProcess(["curl", "-sS", "\(site.url)/sign_in/?username=activeall&password=\(attempt)"])
            _ = try await runProcess(["curl", "-sS", "\(site.url)/sign_in/?username=rubbish&password=\(attempt)"])
        }
        for (place, text) in [
            ("health", "Recent activity"), ("accounts", "alice"), ("sessions", "this page"), ("plans", "gold"),
            ("orders", "New order"),
            ("catalog", "Editions"), ("audit", "account.create"), ("canned", "activeall"), ("keys", "Master key"),
            ("staff", "Setup link"),
        ] {
            try await browser.script("location.hash = '#/none'")
            try await site.go(browser, place, until: text)
            let overflow = try await browser.script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            #expect(overflow.int ?? 1 <= 0, "\(place) at \(width)")
            let unnamed = try await browser.script(
                """
                const labels = (e) => [...(e.labels ?? [])].map((label) => label.textContent).join('');
                const name = (e) => (e.getAttribute('aria-label') || labels(e) || e.textContent).trim();
                return [...document.querySelectorAll('button, a[href], input, select')]
                  .filter((e) => !e.closest('[hidden], dialog') && !name(e)).map((e) => e.outerHTML.slice(0, 80));
                """
            )
            #expect(unnamed.array?.isEmpty == true, "\(place): \(unnamed)")
            await AdminSite.keep(browser, "admin-\(place)-\(width)-\(scheme.rawValue)", wholePage: true)
        }
        try await site.go(browser, "accounts", until: "alice")
        try await browser.click("#accounts tbody tr:nth-child(2) a")
        try await browser.wait(until: "document.querySelector('h1').textContent === 'alice'")
        let account = try #require(try await browser.script("return location.hash.slice(2)").string)
        for (part, text) in [
            ("", "Explain access"), ("/holdings", "Edition credentials"), ("/access", "Identities"), ("/data", "Erase"),
        ] {
            try await site.go(browser, account + part, until: text)
            let overflow = try await browser.script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            #expect(overflow.int ?? 1 <= 0, "account\(part) at \(width)")
            await AdminSite.keep(
                browser,
                "admin-account\(part.replacing("/", with: "-"))-\(width)-\(scheme.rawValue)",
                wholePage: true
            )
        }
        await browser.close()
        await site.stop()
    }
}
