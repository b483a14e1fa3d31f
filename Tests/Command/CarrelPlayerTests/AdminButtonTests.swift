// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Every button of the administrators' page, pressed by an administrator; the effect is checked through the interface.
struct `The buttons of the page at admin` {
    @Test func `all do what they say`() async throws {
        let store = try await TestStore()
        let site = try await AdminSite(
            ["--canned-users"],
            configuration: """
                receipts.roots = \(store.rootFile)
                receipts.bundle-ids = com.example.reader
                receipts.plans = com.example.monthly=gold
                stream.access = order-url

                """
        )
        let browser = try await Browser.start(.chromium)
        try await browser.addStartScript(AdminTour.recorder)
        let tour = AdminTour(site: site, browser: browser)
        try await site.setUp(browser)
        #expect(try await tour.ask("session")["role"] == "owner")
        try await tour.plans()
        let title = try await tour.uploads()
        try await tour.account(of: store)
        try await tour.orders(title)
        try await tour.lists()
        try await tour.person(title)
        try await tour.keys()
        try await tour.log()
        try await tour.overview()
        try await tour.signOut()

        let (seen, pressed) = (try await tour.noted("seen"), try await tour.noted("pressed"))
        #expect(pressed.count > 60)
        let left = seen.subtracting(pressed)
        #expect(left.isEmpty, "nobody pressed \(left.sorted())")
        let trouble = try await browser.messages().filter { !$0.text.contains("status of 4") }
        #expect(trouble.isEmpty, "\(trouble)")
        await browser.close()
        await site.stop()
    }
}

extension AdminTour {
    /// Finds accounts, and ends sessions.
    func lists() async throws {
        for number in 0..<52 { _ = try await send("accounts", ["name": .string("reader \(number)")]) }
        for number in 0..<101 { _ = try await send("sessions", ["account": .string("reader \(number % 50)")]) }
        try await go("accounts", until: "More")
        try await press("More", in: "Find")
        try await browser.wait(until: "document.querySelectorAll('#accounts tbody tr').length > 50")
        try await fill("find-account", [("find", "READER 51")])
        try await browser.wait(until: "document.querySelectorAll('#accounts tbody tr').length === 1")
        try await fill("explain", [("name", "reader 7"), ("product", "issue-1")])
        try await browser.wait(until: "document.getElementById('explanation').textContent.includes('notentitled')")
        try await browser.clear("form[name=explain] [name=name]")
        try await fill("explain", [("name", "nobody at all")])
        try await browser.wait(until: "document.getElementById('explanation').textContent.includes('Sources checked: accounts')")

        try await go("sessions", until: "More")
        try await press("More", in: "Live sessions")
        try await browser.wait(until: "document.querySelectorAll('#sessions tbody tr').length > 101")
        func sessions() async throws -> Int { try await ask("sessions?limit=1000")["sessions"]?.array?.count ?? -1 }
        let before = try await sessions()
        try await press("End", in: "Live sessions", row: "reader", answer: "", until: "Ended the session")
        #expect(try await sessions() == before - 1)
    }

    func keys() async throws {
        try await go("keys", until: "Master key")
        try await press("Rotate the master key", in: "Master key", answer: "", until: "Master key 2")
        #expect(try await ask("master-key")["version"] == 2)
        for (card, actions) in [("Tickets", "ticket-key.rotate"), ("Edition credentials", "credentials.rotate")] {
            for words in ["Rotate", "Rotate now"] {
                try await press(words, in: card, answer: "", until: "signs from")
                #expect(try await self.actions(1) == [actions])
            }
        }
        try await browser.type("issue-1", into: "form[name=revoke-product] [name=product]")
        try await press("Revoke the product’s credentials", in: "Edition credentials", answer: "", until: "for issue-1")
        try await press("Revoke all credentials", in: "Edition credentials", answer: "", until: "Revoked all credentials")
        #expect(try await actions(2) == ["credentials.revoke", "credentials.revoke"])

        try await fill("create-key", [("name", "shop")], until: "shown only once")
        let key = try await browser.text(".secret:not([hidden])")
        let bearer = ["-H", "Authorization: Bearer \(key)", "\(site.url)/admin/v1/accounts"]
        #expect(try await curl(bearer[0], bearer[1], bearer[2]).hasSuffix(" 200"))
        try await go("plans", until: "New plan")
        try await go("keys", until: "shop")
        try await press("Revoke", in: "Back-office keys", answer: "", until: "Revoked shop")
        #expect(try await curl(bearer[0], bearer[1], bearer[2]).hasSuffix(" 401"))

        try await go("staff", until: "Setup link")
        try await press("Create a setup link", in: "Setup link")
        try await browser.wait(until: "!document.querySelector('.secret').hidden")
        #expect(try await browser.text(".secret").contains("/admin/#setup="))
        #expect(try await actions(1) == ["setup-link.create"])
    }

    func log() async throws {
        try await go("audit", until: "More")
        try await press("More", in: "Search")
        try await browser.wait(until: "document.querySelectorAll('#audit tbody tr').length > 100")
        try await fill("audit", [("action", "account.erase")])
        try await browser.wait(until: "document.querySelectorAll('#audit tbody tr').length === 1")
        try await press("Verify the seals", in: "Seals")
        try await browser.wait(until: "document.getElementById('seals').textContent.includes('all seals match')")
        #expect(try await carrel("audit", "verify").contains("all seals match"))
        try await go("canned", until: "Console")
        try await press("Check all users", in: "Console")
        let verdict = "document.getElementById('canned-verdict').textContent.startsWith('All green')"
        try await browser.wait(until: verdict, timeout: .seconds(60))
    }

    func overview() async throws {
        try await go("health", until: "Recent activity")
        for (words, span) in [("Three hours", 180), ("A day", 24), ("A week", 168), ("The last hour", 60)] {
            try await press(words, in: "Recent activity")
            let pressed = "document.querySelector('.choice-button[aria-pressed=true]').textContent === '\(words)'"
            try await browser.wait(until: pressed)
            #expect(
                try await ask("statistics?by=\(span > 168 || span == 60 ? "minute" : "hour")&count=\(span)")["slots"]?.array?
                    .count == span
            )
        }
        let count = try await browser.script("return document.querySelectorAll('.chart summary').length").int ?? 0
        #expect(count == 6)
        for place in 1...count {
            try await browser.click(".chart:nth-child(\(place)) summary")
            #expect(try await browser.script("return document.querySelectorAll('.chart details[open]').length").int == place)
        }
    }

    func signOut() async throws {
        try await browser.click("#sign-out")
        try await browser.wait(until: "document.querySelector('form[name=sign-in]') !== null")
        #expect(try await ask("session")["signedIn"] == false)
        try await site.fill(browser, "sign-in", [("name", "anna"), ("password", "wrong horse battery")])
        #expect(try await problem().contains("The action failed"))
        try await browser.clear("form[name=sign-in] [name=name]")
        try await browser.clear("form[name=sign-in] [name=password]")
        try await site.fill(browser, "sign-in", [("name", "anna"), ("password", AdminSite.password)])
        try await browser.wait(until: "!document.getElementById('who').hidden")
        #expect(try await ask("session")["signedIn"] == true)
    }
}
