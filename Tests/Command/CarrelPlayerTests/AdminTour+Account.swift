// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

// The page of one account.
extension AdminTour {
    /// Makes carol, and says what she is.
    func account(of store: TestStore) async throws {
        try await go("accounts", until: "New account")
        try await fill("create-account", [("name", "carol"), ("password", AdminSite.password)], until: "Created carol")
        try await browser.wait(until: "document.querySelector('h1').textContent === 'carol'")
        let id = try await account()
        #expect(try await ask("accounts/\(id)")["hasPassword"] == true)

        try await press("Suspend", in: "Account", answer: "no")
        #expect(try await ask("accounts/\(id)")["suspended"] == false)
        try await press("Suspend", in: "Account", answer: "", until: "Suspended carol")
        #expect(try await ask("accounts/\(id)")["suspended"] == true)
        try await press("Resume", in: "Account", until: "Resumed carol")
        #expect(try await ask("accounts/\(id)")["suspended"] == false)
        #expect(
            try await browser.script("return document.activeElement.closest('.card').querySelector('h2').textContent")
                == "Account"
        )

        try await fill("limit", [("limit", "3")], until: "The limit is 3")
        #expect(try await ask("accounts/\(id)")["deviceLimit"] == 3)
        try await choose("support", "role", in: "role")
        try await fill("role", [], until: "The role is support")
        #expect(try await ask("accounts/\(id)/role")["role"] == "support")
        try await choose("reader", "role", in: "role")
        try await fill("role", [], until: "The role is reader")
        try await fill("explain", [("product", "issue-1")])
        try await browser.wait(until: "document.getElementById('explanation').textContent.includes('notentitled')")
        #expect(try await browser.text("#explanation").contains("Source: accounts"))

        try await holdings(id, store)
        try await access(id)
    }

    /// Gives her what there is, and takes it back.
    private func holdings(_ id: String, _ store: TestStore) async throws {
        try await go("accounts/\(id)/holdings", until: "Edition credentials")
        func held() async throws -> JSON? { try await ask("accounts/\(id)/entitlement")["subscriptions"]?.array?.last }
        try await fill("grant", [], until: "Granted gold")
        #expect(try await held()?["plan"] == "gold")
        try await press("End", in: "Plans", answer: "", until: "Ended gold")
        #expect(try await held()?["end"]?.string != nil)
        #expect(try await held()?["revokedAt"]?.isNull == true)
        try await press("Revoke", in: "Plans", answer: "", until: "Revoked gold")
        #expect(try await held()?["revokedAt"]?.string != nil)

        try await fill("give", [("product", "issue-1")], until: "Granted issue-1")
        #expect(try await ask("accounts/\(id)/entitlement")["purchases"]?.array?.first?["product"] == "issue-1")
        try await press("End", in: "Single products", answer: "", until: "Ended issue-1")
        #expect(try await ask("accounts/\(id)/entitlement")["purchases"]?.array?.first?["end"]?.string != nil)

        try await fill("receipt", [("transactions", "rubbish")])
        #expect(try await problem().contains("receipt.malformed"))
        #expect(
            try await browser.script(
                "return document.querySelector('.problem').closest('.card').textContent.includes('App-store')"
            ) == true
        )
        try await browser.clear("form[name=receipt] textarea")
        let month = try await store.sign(TestStore.month(Instant.now()))
        try await browser.script("document.querySelector('form[name=receipt] textarea').value = arguments[0]", .string(month))
        try await fill("receipt", [], until: "Added: 1")
        #expect(try await ask("accounts/\(id)/receipts")["transactions"]?.array?.first?["plan"] == "gold")
        try await press("Release", in: "App-store purchases", answer: "", until: "Released com.example.monthly")
        #expect(try await ask("accounts/\(id)/receipts")["transactions"]?.array?.isEmpty == true)

        try await press(
            "Revoke its credentials",
            in: "Edition credentials",
            answer: "",
            until: "Revoked the credentials of carol"
        )
        #expect(try await actions().contains("credentials.revoke"))
    }

    private func signIn(_ device: String, _ password: String = AdminSite.password) async throws -> String {
        try await curl(
            "-d",
            "username=carol",
            "--data-urlencode",
            "password=\(password)",
            "-d",
            "uuid=\(device)",
            "-d",
            "device_name=\(device)",
            "\(site.url)/sign_in/"
        )
    }

    /// Lets her in, and shuts her out.
    private func access(_ id: String) async throws {
        // she was staff for a moment, which ended every way in
        try await go("accounts/\(id)/access", until: "Identities")
        try await fill("password", [("password", AdminSite.password)], until: "Set the password of carol")
        try await go("accounts", until: "New account")
        for device in ["phone", "tablet", "reader"] { #expect(try await signIn(device).contains("<token>")) }
        try await go("accounts/\(id)/access", until: "Identities")
        func devices() async throws -> [JSON] { try await ask("accounts/\(id)/devices")["devices"]?.array ?? [] }
        try await press("Rename", in: "Devices", row: "phone", answer: "no")
        try await press("Rename", in: "Devices", row: "phone", answer: "Carol's own", until: "Renamed to Carol")
        #expect(try await devices().first { $0["appName"] == "phone" }?["name"] == "Carol's own")
        #expect(try await browser.script("return document.activeElement.textContent").string?.hasPrefix("Rename") == true)
        try await press("Revoke", in: "Devices", row: "tablet", answer: "", until: "Revoked tablet")
        #expect(try await devices().first { $0["name"] == "tablet" }?["freedAt"]?.string != nil)
        func sessions() async throws -> Int { try await ask("accounts/\(id)/sessions")["sessions"]?.array?.count ?? -1 }
        #expect(try await sessions() == 2)
        try await press("End", in: "Sessions", answer: "", until: "Ended the session")
        #expect(try await sessions() == 1)
        #expect(try await signIn("phone").contains("<token>"))
        try await press("End all sessions", in: "Sessions", answer: "no")
        #expect(try await sessions() == 2)
        try await press("End all sessions", in: "Sessions", answer: "", until: "Ended 2 sessions.")
        #expect(try await sessions() == 0)
        #expect(try await actions(2) == ["session.end", "session.end"])
        #expect(try await devices().allSatisfy { $0["freedAt"]?.string != nil })
        #expect(try await browser.text("#view").contains("Not signed in anywhere"))
        #expect(try await browser.text("#view").contains("End all sessions") == false, "nobody is signed in")
        #expect(try await signIn("phone").contains("<token>"))
        try await go("accounts", until: "New account")
        try await go("accounts/\(id)/access", until: "Identities")
        try await press("Reset all devices", in: "Devices", answer: "", until: "Revoked")
        #expect(try await devices().allSatisfy { $0["freedAt"]?.string != nil })
        #expect(try await sessions() == 0)

        try await fill("password", [("password", "password1")])
        #expect(try await problem().contains("most common"))
        try await browser.clear("form[name=password] [name=password]")
        let fresh = "an altogether other one"
        try await fill("password", [("password", fresh)], until: "Set the password of carol")
        #expect(try await !signIn("phone").contains("<token>"))
        #expect(try await browser.has("#view .problem") == false, "what went wrong is not said for ever")
        for (words, title) in [
            ("Create a sign-in link", "Sign in as carol"), ("Create a password reset link", "Choose a new password"),
        ] {
            try await press(words, in: "Password and links", until: "The link works once")
            #expect(try await curl(try await browser.text(".secret:not([hidden])")).contains(title))
        }

        try await fill("app-password", [("name", "e-reader")], until: "is shown only once")
        #expect(try await ask("accounts/\(id)/app-passwords")["appPasswords"]?.array?.first?["name"] == "e-reader")
        let secret = try await browser.script(
            "return document.querySelector('form[name=app-password]').nextElementSibling.textContent"
        )
        #expect(try await curl("-u", "carol:\(secret.string ?? "")", "\(site.url)/opds/v1/shelf").hasSuffix(" 200"))
        try await go("accounts", until: "New account")
        try await go("accounts/\(id)/access", until: "Identities")
        try await press("Revoke", in: "App passwords", answer: "", until: "Revoked e-reader")
        #expect(try await curl("-u", "carol:\(secret.string ?? "")", "\(site.url)/opds/v1/shelf").hasSuffix(" 401"))

        try await fill("identity", [("issuer", "https://id.example"), ("subject", "a1")], until: "Linked a1")
        #expect(try await ask("accounts/\(id)/identities")["identities"]?.array?.first?["subject"] == "a1")
        try await press("Unlink", in: "Identities", answer: "", until: "Unlinked a1")
        #expect(try await ask("accounts/\(id)/identities")["identities"]?.array?.isEmpty == true)
    }

    /// Exports her personal data, and erases her.
    func person(_ title: String) async throws {
        let order = try await send("orders", ["account": "carol", "title": .string(title), "orderNumber": "carol-1"])
        let start = Instant.now() + .seconds(-600)
        let report: JSON = [
            [
                "id": order["id"] ?? .null, "startUtc": .string(start.description),
                "endUtc": .string((start + .seconds(4)).description), "startPosition": 0, "endPosition": 4,
                "deviceName": "=cmd|'/c calc'!A1",
            ]
        ]
        let text = String(decoding: report.write(), as: UTF8.self)
        #expect(
            try await curl("-H", "Content-Type: application/json", "-d", text, "\(site.url)/v2/states/").contains(
                "\"accepted\":1"
            )
        )
        let accounts = try await ask("accounts?name=carol")["accounts"]?.array ?? []
        let id = try #require(accounts.first?["id"]?.string)
        try await go("accounts/\(id)/data", until: "Erase this person")
        try await press("Show the listening history", in: "Listening history")
        try await browser.wait(until: "document.getElementById('history').textContent.includes('0:04 of')")
        #expect(try await actions(3).contains("account.history"))
        func file(_ selector: String) async throws -> String {
            let script = """
                const done = arguments[arguments.length - 1];
                fetch(document.querySelector(arguments[0]).href).then((r) => r.text()).then(done);
                """
            return try await browser.asyncScript(script, .string(selector)).string ?? ""
        }
        try await press("All intervals as CSV", in: "Listening history")
        let table = try await file("#history-csv")
        #expect(table.contains("Title,Started (UTC)"))
        #expect(table.contains(",0:00:00,0:00:04,,'=cmd|"), "what a spreadsheet would run is text: \(table)")
        try await press("Export the data", in: "Export")
        let export = Array(try await file("#export").utf8)
        #expect(try JSON.parse(export.rawSpan)["account"]?["name"] == "carol")

        try await press("Erase this person", in: "Erase", answer: "no")
        try await browser.click("#erase")
        try await browser.type("carl", into: "#question-answer")
        #expect(try await browser.script("return document.getElementById('question-yes').disabled") == true)
        try await browser.click("#question-no")
        #expect(try await ask("accounts?name=carol")["accounts"]?.array?.count == 1)
        try await press("Erase this person", in: "Erase", answer: "carol", until: "carol is erased")
        #expect(try await ask("accounts?name=carol")["accounts"]?.array?.isEmpty == true)
        #expect(try await browser.script("return location.hash") == "#/accounts")
    }
}
