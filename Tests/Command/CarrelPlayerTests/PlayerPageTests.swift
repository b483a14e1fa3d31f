// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTPServer
import CarrelJSON
import CarrelLicensing
import CarrelPasswordHash
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Testing

/// A server with alice, who has two linked players, in a browser.
private struct PlayerSite {
    static let password = "correct horse battery"

    let test: TestService
    let server: HTTPServer
    let url: String
    let alice: Account
    let browser: Browser

    init(_ options: BrowserOptions = BrowserOptions()) async throws {
        test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        var configuration = ServerConfiguration()
        configuration.workers = 1
        server = HTTPServer(configuration: configuration, router: test.service.router)
        url = "http://127.0.0.1:\(try #require(try server.start().first?.port))"
        alice = try await test.service.desk.create("alice", password: Self.password, by: .operator)
        browser = try await Browser.start(.chromium, options)
    }

    func stop() async {
        await browser.close()
        await server.shutdown(grace: .seconds(1))
    }

    /// A player that alice's session linked.
    func player() async throws -> TestPlayer.Personalized {
        let token = try await test.service.accounts.issueSession(for: alice)
        return try await TestPlayer().personalized(by: test, token: token)
    }

    /// A license of a player.
    func license(_ player: TestPlayer.Personalized, _ content: String, isStream: Bool = false) async throws -> License {
        var rules = BusinessRules(kind: isStream ? .ms3 : .license, expiresAt: test.clock.now + .seconds(3600))
        rules.contents = [.init(contentID: content, keyID: KeyID(label: content), key: Secret(Array(0..<16)))]
        rules.rights = isStream ? .session : .buyToOwn
        rules.isStorable = !isStream
        rules.cookie = "order-7"
        let token = try await test.service.businessTokens.seal(rules, at: test.clock.now).text
        let request = try await player.request(isStream ? .stream : .persist, of: test, token: token)
        return try #require(try await player.send(request, to: test).license)
    }

    func signIn() async throws {
        try await browser.open("\(url)/account")
        try await browser.type("alice", into: "#name")
        try await browser.type(Self.password, into: "#password")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.getElementById('main')?.hasAttribute('aria-busy') === false")
    }

    /// Signs staff in at the administrators' page, and opens the part of alice's account.
    func openAccess() async throws {
        let owner = try await test.service.desk.create("olga", by: .operator)
        try await test.service.staff.setRole(.owner, of: owner, by: .operator)
        try await test.service.desk.setPassword(Self.password, of: owner.id, by: .operator)
        try await browser.open("\(url)/admin/")
        try await AdminSite.fill(browser, "sign-in", [("name", "olga"), ("password", Self.password)])
        try await browser.wait(until: "document.getElementById('who-name')?.textContent.includes('olga')")
        try await go("accounts/\(alice.id)/access", until: "Copies of apps with a certificate")
    }

    func go(_ place: String, until text: String) async throws {
        try await browser.script("location.hash = '#/\(place)'")
        try await browser.wait(until: "document.getElementById('view').textContent.includes('\(text)')")
    }

    /// Presses the first button of these words in a part of the page, confirms the dialog, and waits for the message.
    func press(_ words: String, in part: String, isAsked: Bool, until said: String? = nil) async throws {
        try await browser.script("document.getElementById('said').textContent = ''")
        let find = """
            (() => {
              const own = (b) => { const c = b.cloneNode(true); c.querySelectorAll('.visually-hidden').forEach((h) => h.remove()); return c.textContent.trim(); };
              const found = [...document.querySelectorAll('\(part) button')].find((b) => own(b) === '\(words)');
              document.querySelectorAll('[data-press]').forEach((b) => b.removeAttribute('data-press'));
              found?.setAttribute('data-press', '');
              return !!found;
            })()
            """
        try await browser.wait(until: find, timeout: .seconds(15))
        try await browser.click("[data-press]")
        if isAsked {
            try await browser.wait(until: "document.getElementById('question').open")
            try await browser.click("#question-yes")
        }
        if let said { try await browser.wait(until: "document.getElementById('said').textContent.includes('\(said)')") }
    }

    /// The browser's complaints, apart from refusals and its advice for forms without password managers.
    func trouble() async throws -> [String] {
        try await browser.messages().map(\.text).filter { !$0.contains("status of 4") && !$0.contains("[DOM]") }
    }

    /// Nothing is wider than the window, every control has a name, and it is large enough for a finger.
    func expectFits(_ name: String) async throws {
        for width in [360, 1440] {
            try await browser.setWindowSize(width: width, height: 900)
            let wide = try await browser.script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            #expect((wide.int ?? 99) <= 0, "\(name) at \(width) px is wider than the window")
            let nameless = try await browser.script(
                """
                return [...document.querySelectorAll('button, a.button, input:not([type=hidden])')].filter((one) => one.checkVisibility()
                  && !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).length;
                """
            )
            #expect(nameless == 0, "\(name): a control without a name")
            await AdminSite.keep(browser, "\(name)-\(width)", wholePage: true)
        }
    }
}

struct `The pages about players` {
    @Test func `let a reader type the code of a device, see which one it is, and link or refuse it`() async throws {
        let site = try await PlayerSite()
        let (test, browser) = (site.test, site.browser)
        let player = try await TestPlayer().personalized(by: test)
        let codes = try await player.linkCode(of: test, from: "127.0.0.1").answer
        let user = try #require(codes["user_code"]?.string)
        // The address of the code leads through signing in.
        try await browser.open("\(site.url)/account/link/\(user)")
        try await browser.type("alice", into: "#name")
        try await browser.type(PlayerSite.password, into: "#password")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.getElementById('code') !== null")
        #expect(try await browser.script("return document.getElementById('code').value").string == user)
        try await site.expectFits("link-device")
        try await browser.clear("#code")
        try await browser.type("BCDF-BCDF", into: "#code")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.querySelector('[role=alert]') !== null")
        #expect(try await browser.text("[role=alert]").contains("No device waits with this code"))
        try await browser.clear("#code")
        try await browser.type(user.lowercased(), into: "#code")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.querySelector('.facts') !== null")
        let facts = try await browser.text(".facts")
        for fact in ["phone", "Reader 1.0", "file with a passphrase", "the same as yours now"] {
            #expect(facts.contains(fact), "\(fact)")
        }
        try await site.expectFits("link-confirm")
        try await browser.click("button[value=yes]")
        try await browser.wait(until: "document.querySelector('h1')?.textContent === 'Device linked'")
        try await site.expectFits("link-done")
        #expect(try await test.service.players.find(player.id).account == site.alice.id)
        // and another one is refused
        let other = try await TestPlayer().personalized(by: test)
        let refused = try #require(try await other.linkCode(of: test).answer["user_code"]?.string)
        try await browser.click("a.button")
        try await browser.wait(until: "document.getElementById('players')?.textContent.includes('phone')")
        try await browser.click("a[href='/account/link']")
        try await browser.wait(until: "document.getElementById('code') !== null")
        try await browser.type(refused, into: "#code")
        try await browser.press(BrowserKey.enter)
        try await browser.wait(until: "document.querySelector('button[value=no]') !== null")
        #expect(try await browser.text(".facts").contains("not the one you are in now"))
        try await browser.click("button[value=no]")
        try await browser.wait(until: "document.querySelector('h1')?.textContent === 'Device refused'")
        #expect(try await test.service.players.find(other.id).account == nil)
        let trouble = try await site.trouble()
        #expect(trouble.isEmpty, "\(trouble)")
        await site.stop()
    }

    @Test func `show a reader the linked apps with their licenses, and remove one`() async throws {
        let site = try await PlayerSite()
        let browser = site.browser
        let player = try await site.player()
        let film = try await site.license(player, "cid:film")
        _ = try await site.license(player, "cid:stream", isStream: true)
        try await site.signIn()
        let shown = try await browser.text("#players")
        for text in [
            "phone", "Reader 1.0, keys in a file with a passphrase", "linked until", "cid:film: stored", "cid:stream: playing",
        ] {
            #expect(shown.contains(text), "\(text)")
        }
        try await site.expectFits("account-players")
        try await browser.click("[aria-label='End the license of phone for cid:film']")
        try await browser.wait(until: "!document.getElementById('players').textContent.includes('cid:film')")
        try await browser.wait(
            until: "document.querySelector('.told.good:not(:empty)')?.textContent === 'The license for cid:film has ended.'"
        )
        let ended = try await site.test.service.database.read {
            try LicenseStore.license(film.id, in: $0)?.endedBy
        }
        #expect(ended == "reader")
        #expect(try await browser.text("#players").contains("cid:stream: playing"))
        try await browser.click("#players .row-end")
        try await browser.wait(until: "document.getElementById('players').textContent === 'No app is linked.'")
        try await browser.wait(until: "document.querySelector('.told.good:not(:empty)')?.textContent === 'phone is removed.'")
        #expect(try await site.test.service.players.find(player.id).state == "revoked")
        #expect(
            try await browser.script("return document.activeElement.id") == "players-heading",
            "the keyboard stays in the section"
        )
        let trouble = try await site.trouble()
        #expect(trouble.isEmpty, "\(trouble)")
        await site.stop()
    }

    @Test func `let staff suspend, resume and revoke players and licenses, and see why one was denied`() async throws {
        let site = try await PlayerSite()
        let (test, browser) = (site.test, site.browser)
        let player = try await site.player()
        let film = try await site.license(player, "cid:film")
        _ = try await site.license(player, "cid:stream", isStream: true)
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = ("none", 1)
        #expect(try await player.send(renewal, to: test).problem == "license.unknown")
        try await site.openAccess()
        #expect(try await browser.text("#view").contains("1 of 3"), "the stream takes a place")
        func state() async throws -> String { try await test.service.players.find(player.id).state }
        let part = "#view .card"
        try await site.press("Suspend", in: part, isAsked: true, until: "Suspended phone")
        #expect(try await state() == "suspended")
        try await site.press("Resume", in: part, isAsked: false, until: "Resumed phone")
        #expect(try await state() == "active")
        try await site.press("Licenses", in: part, isAsked: false)
        try await browser.wait(
            until:
                "document.getElementById('player').textContent.includes('not this player’s') || document.getElementById('player').textContent.includes(\"not this player's\")"
        )
        let details = try await browser.text("#player")
        for text in ["cid:film", "cid:stream", "order-7", "license.unknown", "stored", "valid"] {
            #expect(details.contains(text), "\(text)")
        }
        #expect(try await browser.script("return document.activeElement.closest('#player') !== null").bool == true)
        try await site.expectFits("admin-players")
        try await site.press("Revoke", in: "#player", isAsked: true, until: "Revoked the license for cid:")
        let ended = try await test.service.licenses.list(of: player.id, after: nil, limit: 10).filter { $0.endedBy == "staff" }
        #expect(ended.count == 1 && [film.id].contains(ended.first?.id ?? "") || ended.first?.contentID == "cid:stream")
        try await browser.script("document.getElementById('player')?.replaceChildren()")
        let row = "#view .card:has(#player)"
        try await site.press("Revoke", in: row, isAsked: true, until: "Revoked phone")
        #expect(try await state() == "revoked")
        try await site.go("keys", until: "Certificate authority")
        let keys = try await browser.text("#view")
        for text in ["certificates of players", "licenses", "trusted time", "list of revocations"] {
            #expect(keys.contains(text))
        }
        try await site.expectFits("admin-keys")
        let trouble = try await site.trouble()
        #expect(trouble.isEmpty, "\(trouble)")
        await site.stop()
    }
}
