// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

/// Signing in with a password, and choosing a new one, as a browser without scripts does it.
@Suite(.onBothDatabases)
struct `The doors` {
    private let password = "correct horse battery"
    private let operatorActor = AuditActor("operator")

    private func service() async throws -> (TestService, Account) {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        return (test, try await test.service.desk.create("alice", password: password, by: operatorActor))
    }

    /// Sends a form as a page of ours does.
    private func post(
        _ test: TestService,
        _ path: String,
        _ fields: [(String, String)],
        headers: HTTPFields = ["Origin": "http://localhost"]
    ) async throws -> (status: Int, headers: HTTPFields, text: String) {
        var headers = headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        let body = fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let peer = Peer.network(address: "192.0.2.1", port: 1)
        let request = HTTPRequest(.post, path, headers: headers, body: Array(body.utf8), peer: peer)
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, response.headers, String(decoding: bytes, as: UTF8.self))
    }

    private func cookie(_ headers: HTTPFields) -> String? {
        headers["Set-Cookie"]?.split(separator: ";").first.map(String.init)
    }

    private func shelf(_ test: TestService, _ cookie: String) async throws -> Int {
        try await test.send(.get, "/v1/shelf", headers: ["Cookie": cookie]).status
    }

    @Test func `signs in users with name and password, and leads back to the requested page`() async throws {
        let (test, _) = try await service()
        let asked = try await test.send(.get, "/listen/some-order")
        #expect(asked.status == 401)
        let page = String(decoding: asked.body, as: UTF8.self)
        #expect(page.contains("<input type=\"hidden\" name=\"next\" value=\"/listen/some-order\">"))
        #expect(!page.contains("<!--"))
        #expect(asked.headers["Referrer-Policy"] == "same-origin", "with no-referrer a form comes with Origin: null")
        let answer = try await post(
            test,
            "/sign-in",
            [("name", "alice"), ("password", password), ("next", "/listen/some-order")]
        )
        #expect(answer.status == 303)
        #expect(answer.headers["Location"] == "/listen/some-order")
        #expect(answer.headers["Set-Cookie"]?.contains("; HttpOnly; SameSite=Lax") == true)
        #expect(try await shelf(test, try #require(cookie(answer.headers))) == 200)
    }

    @Test func `say the same to a wrong password, an unknown name and an account without password`() async throws {
        let (test, _) = try await service()
        _ = try await test.service.desk.create("linked", by: operatorActor)
        var answers: Set<String> = []
        for (name, password) in [("alice", "wrong horse"), ("nobody", password), ("linked", password), ("alice", "")] {
            let answer = try await post(test, "/sign-in", [("name", name), ("password", password)])
            #expect(answer.status == 401)
            #expect(answer.headers["Set-Cookie"] == nil)
            answers.insert(answer.text.replacing("value=\"\(name)\"", with: ""))
        }
        #expect(answers.count == 1)
        let text = try #require(answers.first)
        #expect(text.contains("Wrong name or password."))
    }

    @Test func `slow down guessing together with the calls of apps`() async throws {
        let (test, _) = try await service()
        for guess in 0..<3 { _ = try await post(test, "/sign-in", [("name", "alice"), ("password", "guess \(guess)")]) }
        for guess in 3..<5 { _ = try await test.ask("sign_in", ["username": "alice", "password": "guess \(guess)"]) }
        _ = try await post(test, "/sign-in", [("name", "alice"), ("password", "guess 5")])
        let answer = try await post(test, "/sign-in", [("name", "alice"), ("password", password)])
        #expect(answer.status == 429)
        #expect(answer.headers["Retry-After"] != nil)
        test.clock.advance(by: .seconds(3600))
        #expect(try await post(test, "/sign-in", [("name", "alice"), ("password", password)]).status == 303)
    }

    @Test func `tell who is suspended so, but only after the right password`() async throws {
        let (test, account) = try await service()
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        #expect(try await post(test, "/sign-in", [("name", "alice"), ("password", "wrong horse")]).status == 401)
        let answer = try await post(test, "/sign-in", [("name", "alice"), ("password", password)])
        #expect(answer.status == 403)
        #expect(answer.text.contains("suspended"))
        #expect(answer.headers["Set-Cookie"] == nil)
    }

    @Test(arguments: [
        "//evil.test", "https://evil.test/", "/\\evil.test", "evil.test", "", "/a\r\nSet-Cookie: x=y", "/\u{0}",
    ])
    func `lead nowhere but to our own pages`(next: String) async throws {
        let (test, _) = try await service()
        let answer = try await post(test, "/sign-in", [("name", "alice"), ("password", password), ("next", next)])
        #expect(answer.headers["Location"] == "/")
    }

    @Test func `write nothing into the page but text`() async throws {
        let (test, _) = try await service()
        let name = "\"><script>alert(1)</script><!-- next -->"
        let answer = try await post(test, "/sign-in", [("name", name), ("password", "x"), ("next", "/\"><b>")])
        #expect(!answer.text.contains("<script>"))
        #expect(!answer.text.contains("<b>"))
        #expect(answer.text.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- next --&gt;"))
    }

    @Test(arguments: [["Origin": "http://evil.test"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"]])
    func `take no form from a page of another site`(fields: [String: String]) async throws {
        let (test, account) = try await service()
        let token = try await test.service.desk.makeResetLink(for: account.id, by: operatorActor)
        var headers = HTTPFields()
        for (name, value) in fields { headers[name] = value }
        let form = [("name", "alice"), ("password", password), ("again", password)]
        for path in ["/sign-in", "/reset/\(token)"] {
            let answer = try await post(test, path, form, headers: headers)
            #expect(answer.status == 403)
            #expect(answer.headers["Set-Cookie"] == nil)
        }
    }

    // MARK: A new password

    @Test func `give a new password once, by a link that looking at does not use up, and sign out everywhere`() async throws {
        let (test, account) = try await service()
        let signedIn = try await post(test, "/sign-in", [("name", "alice"), ("password", password)])
        let session = try #require(cookie(signedIn.headers))
        let app = try await test.ask("sign_in", ["username": "alice", "password": password])
        let made = try await test.call(.post, "/admin/v1/accounts/\(account.id)/reset-links", peer: .local(userID: 0))
        #expect(made.status == 201)
        let path = try #require(made.json["path"]?.string)
        let other = try await test.service.desk.makeResetLink(for: account.id, by: operatorActor)
        _ = try await test.service.appPasswords.create(for: account, name: "a", scopes: [.opds], by: operatorActor)
        for method in [HTTPMethod.head, .get, .head, .get] { #expect(try await test.send(method, path).status == 200) }

        let fresh = "a new one that is long"
        let differing = try await post(test, path, [("password", fresh), ("again", fresh + "x")])
        #expect(differing.status == 400)
        for bad in ["short", "password1", String(repeating: "x", count: 257)] {
            #expect(try await post(test, path, [("password", bad), ("again", bad)]).status == 400)
        }
        #expect(try await shelf(test, session) == 200, "nothing has happened yet")
        let done = try await post(test, path, [("password", fresh), ("again", fresh)])
        #expect(done.status == 303)
        #expect(done.headers["Location"] == "/sign-in?changed")
        #expect(done.headers["Set-Cookie"] == nil)

        #expect(try await shelf(test, session) == 401)
        let token = app.token
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("state=\"stale\""))
        #expect(try await test.service.appPasswords.list(of: account).isEmpty)
        #expect(try await post(test, "/sign-in", [("name", "alice"), ("password", password)]).status == 401)
        #expect(try await post(test, "/sign-in", [("name", "alice"), ("password", fresh)]).status == 303)
        for used in [path, "/reset/\(other)"] {
            #expect(try await test.send(.get, used).status == 403)
            #expect(try await post(test, used, [("password", password), ("again", password)]).status == 403)
        }
        var filter = AuditFilter()
        filter.action = "account.password"
        #expect(try await test.service.audit.list(filter).first?.reason == "reset")
    }

    @Test func `close a reset link after an hour, and while the account is suspended`() async throws {
        let (test, account) = try await service()
        let token = try await test.service.desk.makeResetLink(for: account.id, by: operatorActor)
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        #expect(try await test.send(.get, "/reset/\(token)").status == 403)
        try await test.service.desk.setSuspended(false, account.id, by: operatorActor)
        test.clock.advance(by: .seconds(3599))
        #expect(try await test.send(.get, "/reset/\(token)").status == 200)
        test.clock.advance(by: .seconds(1))
        #expect(try await test.send(.get, "/reset/\(token)").status == 403)
        let fresh = "a new one that is long"
        #expect(try await post(test, "/reset/\(token)", [("password", fresh), ("again", fresh)]).status == 403)
        let sessionLink = try await test.service.accounts.makeSignInLink(for: account)
        #expect(try await test.send(.get, "/reset/\(sessionLink)").status == 403, "a sign-in link is no reset link")
        #expect(try await test.send(.get, "/reset/garbage").status == 403)
    }

    // MARK: Links that sign in

    private func audit(_ test: TestService, _ action: String) async throws -> [AuditEntry] {
        var filter = AuditFilter()
        filter.action = action
        return try await test.service.audit.list(filter)
    }

    @Test func `sign in by a link only who presses the button, once`() async throws {
        let (test, account) = try await service()
        let path = "/sign-in/\(try await test.service.accounts.makeSignInLink(for: account))"
        // opened from a mail program, and by link previews
        let mail: HTTPFields = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"]
        for method in [HTTPMethod.head, .get, .get] {
            let look = try await test.send(method, path, headers: mail)
            #expect(look.status == 200)
            #expect(look.headers["Set-Cookie"] == nil)
            #expect(look.headers["Cache-Control"] == "no-store")
            let page = String(decoding: look.body, as: UTF8.self)
            if method == .get {
                #expect(page.contains("Sign in as alice") && !page.contains("<!--") && !page.contains("<script"))
            }
        }
        for elsewhere in [["Origin": "http://evil.test"], ["Sec-Fetch-Site": "cross-site"], [:]] as [HTTPFields] {
            let answer = try await post(test, path, [], headers: elsewhere)
            #expect(answer.status == 403)
            #expect(answer.headers["Set-Cookie"] == nil)
        }
        #expect(try await audit(test, "session.start").isEmpty)
        let done = try await post(test, path, [])
        #expect(done.status == 303)
        #expect(done.headers["Location"] == "/")
        #expect(try await shelf(test, try #require(cookie(done.headers))) == 200)
        #expect(try await test.send(.get, path).status == 403)
        #expect(try await post(test, path, []).status == 403)
        let started = try await audit(test, "session.start")
        #expect(started.map(\.reason) == ["link"])
        #expect(started.map(\.actor) == [account.id])
    }

    @Test func `say who is signed out by a link, and write it into the audit log`() async throws {
        let (test, alice) = try await service()
        let bob = try await test.service.accounts.findOrCreate(named: "bob")
        let signedIn = try await post(test, "/sign-in", [("name", "alice"), ("password", password)])
        let session = try #require(cookie(signedIn.headers))
        let path = "/sign-in/\(try await test.service.accounts.makeSignInLink(for: bob))"
        let page = String(decoding: try await test.send(.get, path, headers: ["Cookie": session]).body, as: UTF8.self)
        #expect(page.contains("Sign in as bob") && page.contains("signed in as alice"))
        let done = try await post(test, path, [], headers: ["Origin": "http://localhost", "Cookie": session])
        #expect(done.status == 303)
        #expect(try await shelf(test, session) == 401)
        #expect(try await audit(test, "session.end").map(\.actor) == [alice.id])
        let other = try #require(cookie(done.headers))
        let out = try await test.send(.post, "/sign-out", headers: ["Origin": "http://localhost", "Cookie": other])
        #expect(out.status == 303)
        #expect(try await audit(test, "session.end").map(\.actor).sorted() == [alice.id, bob.id].sorted())
    }

    @Test func `close a sign-in link after an hour, and while the account is suspended`() async throws {
        let (test, account) = try await service()
        let path = "/sign-in/\(try await test.service.accounts.makeSignInLink(for: account))"
        try await test.service.desk.setSuspended(true, account.id, by: operatorActor)
        #expect(try await test.send(.get, path).status == 403)
        #expect(try await post(test, path, []).status == 403)
        try await test.service.desk.setSuspended(false, account.id, by: operatorActor)
        #expect(try await test.send(.get, path).status == 200)
        test.clock.advance(by: .seconds(3600))
        #expect(try await test.send(.get, path).status == 403)
        #expect(try await post(test, path, []).status == 403)
    }
}
