// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The doors and the reader's own page on a real server, in a real browser.
struct `The account page` {
    private let password = "correct horse battery"
    private let name = "Zoë Reader"

    private func start(
        _ kind: BrowserKind,
        _ options: BrowserOptions = BrowserOptions(),
        name: String? = nil
    ) async throws -> (DemoServer, Browser) {
        let server = try await DemoServer(["--stream-access", "session"])
        try await checkProcess(
            [DemoServer.program, "account", "create", name ?? self.name, "--password-stdin", "--home", server.home],
            input: Array(password.utf8)
        )
        return (server, try await Browser.start(kind, options))
    }

    private func end(_ server: DemoServer, _ browser: Browser) async {
        await browser.close()
        _ = await server.stop()
    }

    private func signIn(_ server: DemoServer, _ browser: Browser, as name: String? = nil) async throws {
        try await browser.open("\(server.url)/account")
        try await browser.type(name ?? self.name, into: "#name")
        try await browser.type(password, into: "#password")
        try await browser.press(BrowserKey.enter)
        try await ready(browser)
    }

    /// The last messages, good and bad.
    private static let said = "document.querySelector('.told.good:not(:empty)')"
    private static let trouble = "document.querySelector('.told.problem:not(:empty)')"

    /// Whether all of an element is in the window.
    private static func isSeen(_ element: String) -> String {
        "(({ top, bottom }) => top >= -1 && bottom <= innerHeight + 1)(\(element).getBoundingClientRect())"
    }

    /// A message is after the list or form of the pressed element, in view.
    private func expectBeside(_ browser: Browser, _ block: String) async throws {
        let near = try await browser.script(
            """
            const said = document.querySelector('.told:not(:empty)'), block = document.getElementById(arguments[0]);
            return [said.previousElementSibling === block || said.previousElementSibling.previousElementSibling === block,
              \(Self.isSeen("said")), said.getBoundingClientRect().top - block.getBoundingClientRect().bottom < 40];
            """,
            .string(block)
        )
        #expect(near == [true, true, true], "beside \(block)")
    }

    private func ready(_ browser: Browser) async throws {
        try await browser.wait(until: "document.getElementById('main')?.hasAttribute('aria-busy') === false")
    }

    /// Asks the server as an app does; the status, then the body.
    private func curl(_ arguments: [String]) async throws -> String {
        try await checkProcess(["curl", "-sS", "-w", " %{http_code}"] + arguments)
    }

    @Test(arguments: BrowserKind.allCases)
    func `signs in, shows the account's data, and ends sessions on request`(kind: BrowserKind) async throws {
        let (server, browser) = try await start(kind)
        try await browser.open("\(server.url)/account")
        #expect(try await browser.text("h1") == "Sign in")
        try await browser.type(name, into: "#name")
        try await browser.type("wrong horse battery", into: "#password")
        try await browser.click("button[type=submit]")
        try await browser.wait(until: "document.querySelector('[role=alert]') !== null")
        #expect(try await browser.text("[role=alert]").contains("Wrong name or password"))
        #expect(try await browser.script("return document.getElementById('name').value").string == name)

        // An app signs in, hears a little, and another browser is signed in too.
        let app = try await curl([
            "--data-urlencode", "username=\(name)", "--data-urlencode", "password=\(password)", "-d", "uuid=1",
            "--data-urlencode", "device_name=Zoë's telephone", "\(server.url)/sign_in/",
        ])
        #expect(app.contains("<token>"))
        let title = try #require(server.titles.first)
        let order = try await DemoServer.json([
            "order", "create", "--home", server.home, "--title", title.id, "--account", name, "--json",
        ])
        let token = try await DemoServer.json(["account", "token", "--home", server.home, name, "--json"])
        let report: JSON = [
            [
                "id": order["id"] ?? .null, "startUtc": "2026-01-02T10:00:00Z", "endUtc": "2026-01-02T10:00:30Z",
                "startPosition": 0, "endPosition": 30, "deviceName": "Zoë's telephone",
            ]
        ]
        let reported = try await curl([
            "-H", "Authorization: Bearer \(token["token"]?.string ?? "")", "-H", "Content-Type: application/json", "-d",
            String(decoding: report.write(), as: UTF8.self), "\(server.url)/v2/states/",
        ])
        #expect(reported.contains("\"accepted\":1"))

        try await signIn(server, browser)
        #expect(try await browser.script("return location.pathname").string == "/account")
        #expect(try await browser.text("#who") == "Signed in as \(name)")
        #expect(try await browser.text("#history").contains("at 0:30 of"))
        #expect(try await browser.text("#devices").contains("Zoë's telephone"))
        #expect(try await browser.script("return document.querySelectorAll('#sessions li').length").int == 3)
        let table = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            fetch(document.querySelector('a[download$=csv]').href).then((r) => r.text()).then(done);
            """
        )
        #expect(table.string?.contains(",0:00:00,0:00:30,,Zoë's telephone") == true, "\(table)")
        try await browser.click("#devices .row-ends button")
        try await browser.clear("#devices input")
        try await browser.type("My telephone", into: "#devices input")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.getElementById('devices').textContent.includes('App name: Zoë')")
        try await browser.wait(until: "\(Self.said)?.textContent === 'Renamed to My telephone.'")
        try await browser.wait(until: "document.getElementById('sessions').textContent.includes('My telephone')")
        try await browser.click("#devices .row-ends button:last-child")
        try await browser.wait(until: "document.querySelectorAll('#sessions li').length === 2")
        try await browser.wait(until: "\(Self.said)?.textContent === 'My telephone is signed out.'")
        try await expectBeside(browser, "devices")
        try await browser.click("#end-others")
        try await browser.wait(until: "document.querySelectorAll('#sessions li').length === 1")
        #expect(try await browser.text("#sessions").contains("This one"))

        try await browser.type("My e-reader", into: "#app-name")
        try await browser.click("input[value=sync]")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "!document.getElementById('new-app').hidden")
        let secret = try await browser.text("#new-app-text")
        #expect(try await browser.text("#new-app-heading").hasPrefix("The new password for My e-reader"))
        #expect(try await browser.script("return document.activeElement.id") == "new-app")
        #expect(try await browser.script("return \(Self.isSeen("document.getElementById('new-app')"))").bool == true)
        let sync = ["-u", "\(name):\(secret)", "-H", "Content-Type: application/json", "-d", "[]", "\(server.url)/v2/states/"]
        #expect(try await curl(sync).hasSuffix(" 200"))
        try await browser.reload()
        try await ready(browser)
        #expect(try await browser.text("#apps").contains("My e-reader"))
        #expect(try await browser.text("#apps").contains("last used today"))
        let isShown = try await browser.script("return document.body.textContent.includes(arguments[0])", .string(secret)).bool
        #expect(isShown == false)
        try await browser.click("#apps .row-end")
        try await browser.wait(until: "document.getElementById('apps').textContent === 'None.'")
        try await browser.wait(until: "\(Self.said)?.textContent === 'My e-reader is revoked.'")
        try await expectBeside(browser, "apps")
        #expect(
            try await browser.script("return document.activeElement.id") == "apps-heading",
            "the keyboard stays in the section"
        )
        #expect(try await curl(sync).hasSuffix(" 401"))
        await end(server, browser)
    }

    @Test func `changes the password, hands over the data, and deletes the account`() async throws {
        let (server, browser) = try await start(.chromium)
        try await signIn(server, browser)
        let fresh = "an altogether other one"
        try await browser.type("not the password", into: "#current")
        try await browser.type(fresh, into: "#fresh")
        try await browser.click("#password-form button")
        try await browser.wait(until: "\(Self.trouble)?.textContent === 'This is not your password.'")
        try await expectBeside(browser, "password-form")
        try await browser.clear("#current")
        try await browser.type(password, into: "#current")
        try await browser.click("#password-form button")
        try await browser.wait(until: "\(Self.said)?.textContent === 'The password is changed.'")
        try await expectBeside(browser, "password-form")
        #expect(try await browser.script("return \(Self.trouble) === null").bool == true, "what is past is no longer said")

        let export = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            fetch(document.querySelector('a[href$="/export"]').href).then((r) => r.json()).then(done);
            """
        )
        #expect(export["format"] == "carrel.person/1")
        #expect(export["account"]?["name"]?.string == name)
        let program = try await DemoServer.json(["account", "export", name, "--home", server.home])
        #expect(program["account"] == export["account"])

        try await browser.click("summary")
        #expect(try await browser.text("#kept").contains("audit"))
        try await browser.type("somebody else", into: "#erase-name")
        try await browser.type(fresh, into: "#erase-password")
        try await browser.click("#erase-form button")
        try await browser.wait(until: "\(Self.trouble)?.textContent.includes('not the name')")
        try await expectBeside(browser, "erase-form")
        try await browser.clear("#erase-name")
        try await browser.type(name, into: "#erase-name")
        try await browser.click("#erase-form button")
        try await browser.wait(until: "location.pathname === '/'")
        let accounts = try await DemoServer.json(["account", "list", "--home", server.home, "--json"])
        let names = accounts["accounts"]?.array?.compactMap { $0["name"]?.string } ?? []
        #expect(!names.contains(name))
        #expect(try await DemoServer.json(["audit", "verify", "--home", server.home, "--json"])["intact"] == true)
        await end(server, browser)
    }

    @Test func `gives a new password by a link, without scripts`() async throws {
        let (server, browser) = try await start(.chromium)
        let link = try await DemoServer.json([
            "account", "reset-link", name, "--home", server.home, "--json",
        ])
        let address = try #require(link["url"]?.string)
        #expect(try await curl(["-I", address]).contains("200"))
        try await browser.open(address)
        #expect(try await browser.text("h1") == "Choose a new password")
        #expect(try await browser.script("return document.scripts.length").int == 0)
        for typed in [("an altogether other one", "an altogether different one"), ("password1", "password1")] {
            try await browser.type(typed.0, into: "#password")
            try await browser.type(typed.1, into: "#again")
            _ = try await browser.script("window.isOld = true; return true")
            try await browser.click("button[type=submit]")
            try await browser.wait(until: "!window.isOld && document.querySelector('[role=alert]') !== null")
        }
        #expect(try await browser.text("[role=alert]").contains("most common"))
        try await browser.type("an altogether other one", into: "#password")
        try await browser.type("an altogether other one", into: "#again")
        try await browser.click("button[type=submit]")
        try await browser.wait(until: "location.pathname === '/sign-in'")
        #expect(try await browser.text("[role=status]").contains("Your new password is set"))
        try await browser.open(address)
        #expect(try await browser.text("h1") == "This link no longer works")
        await end(server, browser)
    }

    /// A third party's page, on another port of the same machine: the same site, so that the cookie comes along.
    @Test(arguments: BrowserKind.allCases)
    func `cannot be used by a page of another origin`(kind: BrowserKind) async throws {
        let (server, browser) = try await start(kind)
        try await signIn(server, browser)
        let evil = LoopbackServer { connection in
            while connection.readRequest() != nil {
                connection.respond(200, ["Content-Type: text/html"], body: Array("<!doctype html><title>evil</title>".utf8))
            }
        }
        try await browser.open("http://127.0.0.1:\(evil.port)/")
        let outcome = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            const base = arguments[0];
            const calls = [['POST', '/sign-out'], ['POST', '/v1/account/erase'], ['POST', '/v1/account/app-passwords']];
            Promise.allSettled(calls.map(([method, path]) => fetch(base + path, {
              method, mode: 'no-cors', credentials: 'include', body: '{"name":"x","scopes":["opds"]}',
            }))).then((all) => done(all.map((one) => one.status)));
            """,
            .string(server.url)
        )
        #expect(outcome.array?.count == 3)
        try await browser.script(
            """
            const form = document.createElement('form');
            form.method = 'post';
            form.action = arguments[0] + '/sign-out';
            document.body.append(form);
            form.submit();
            """,
            .string(server.url)
        )
        try await browser.wait(until: "location.pathname === '/sign-out'")
        try await browser.open("\(server.url)/account")
        try await ready(browser)
        #expect(try await browser.text("#who") == "Signed in as \(name)", "still signed in")
        #expect(try await browser.text("#apps") == "None.")
        await end(server, browser)
    }

    @Test(arguments: [360, 1440], [BrowserOptions.ColorScheme.light, .dark])
    func `fits, and names every control`(width: Int, scheme: BrowserOptions.ColorScheme) async throws {
        let long = "Wilhelmine.Donaudampfschifffahrtsgesellschaftskapitänswitwe@bibliothek.der.kleinen.stadt.example.org"
        let (server, browser) = try await start(.chromium, BrowserOptions(colorScheme: scheme), name: long)
        try await browser.setWindowSize(width: width, height: 900)
        try await browser.open("\(server.url)/sign-in")
        try await examine(browser, "sign-in", width)
        try await signIn(server, browser, as: long)
        try await examine(browser, "account with nothing in it", width)

        let device = String(repeating: "Donaudampfschiff", count: 6)
        _ = try await curl([
            "--data-urlencode", "username=\(long)", "--data-urlencode", "password=\(password)", "-d", "uuid=1",
            "--data-urlencode", "device_name=\(device)", "\(server.url)/sign_in/",
        ])
        let home = ["--home", server.home]
        for arguments in [
            ["plan", "create", "everything-there-is-and-all-that-is-to-come-for-ever-and-ever"],
            ["plan", "grant", long, "everything-there-is-and-all-that-is-to-come-for-ever-and-ever"],
            ["plan", "give", long, String(repeating: "com.example.edition.", count: 10), "--as", "gift"],
            [
                "account", "app-password", "create", long, String(repeating: "Bücherwurm", count: 9), "--scope", "opds",
                "--scope", "sync",
            ],
        ] {
            try await checkProcess([DemoServer.program] + arguments + home)
        }
        try await browser.reload()
        try await ready(browser)
        try await examine(browser, "account", width)
        try await browser.open("\(server.url)/")
        try await browser.wait(until: "!document.getElementById('sign-out').hidden")
        try await examine(browser, "shelf", width)
        await end(server, browser)
    }

    /// Nothing wider than the window, every control with a name, and big enough to touch.
    private func examine(_ browser: Browser, _ page: String, _ width: Int) async throws {
        let wide = try await browser.script("return document.documentElement.scrollWidth > innerWidth").bool
        #expect(wide == false, "\(page) scrolls sideways at \(width)")
        let unnamed = try await browser.script(
            """
            const name = (e) => (e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.textContent).join('')
              || e.textContent).trim();
            return [...document.querySelectorAll('button, a[href], input:not([type=hidden]), summary')]
              .filter((e) => !e.closest('[hidden]') && !name(e)).map((e) => e.outerHTML);
            """
        )
        #expect(unnamed.array?.isEmpty == true, "\(page): \(unnamed)")
        let small = try await browser.script(
            """
            return [...document.querySelectorAll('button, .bar-link, .button, input:not([type=hidden]):not([type=checkbox])')]
              .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 43).map((e) => e.outerHTML);
            """
        )
        #expect(small.array?.isEmpty == true, "\(page), too small to touch: \(small)")
    }
}
