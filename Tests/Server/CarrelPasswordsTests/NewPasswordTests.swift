// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

/// The access that ends with a password, and with a possibly stolen session.
@Suite(.onBothDatabases)
struct `A compromised account` {
    private let actor = AuditActor("operator")

    /// Every kind of access to an account.
    private struct Inside {
        let test: TestService
        let account: Account
        /// At the administrator's page.
        let staff: StaffPage
        let signInLink: String
        let resetLink: String
        /// The token of an app.
        let app: String
        let appPassword: String
        /// The owner's own browser, and another.
        let own: String
        let other: String
        let pair: EditionCredentials.Pair

        init() async throws {
            test = try await TestService {
                $0.passwordCost = .init(memory: 64, passes: 1)
                $0.subscription.devices.limit = 1
            }
            let actor = AuditActor("operator")
            staff = try await test.staffPage(.admin)
            account = try #require(staff.account)
            signInLink = try await test.service.accounts.makeSignInLink(for: account)
            resetLink = try await test.service.desk.makeResetLink(for: account.id, by: actor)
            let signedIn = try await test.ask(
                "sign_in",
                [
                    "username": account.name, "password": StaffPage.password, "uuid": "phone",
                ]
            )
            app = signedIn.token
            appPassword = try await test.service.appPasswords.create(for: account, name: "a", scopes: [.opds], by: actor).text
            own = try await test.service.accounts.issueSession(for: account)
            other = try await test.service.accounts.issueSession(for: account)
            try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: actor)
            _ = try await test.service.subscriptions.grant(plan: "gold", to: account, by: actor)
            try await test.add(product: "issue-1")
            let granted = try await test.ask("edition_credentials", ["token": app, "product_id": "issue-1"])
            pair = try #require(granted.pair)
        }

        func call(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil) async throws -> (status: Int, json: JSON) {
            try await test.call(method, path, headers: ["Authorization": "Bearer \(own)"], body: body)
        }

        /// The ways in that are still open.
        func open() async throws -> Set<String> {
            var open: Set<String> = []
            if try await staff.call(.get, "/admin/v1/accounts").status == 200 { open.insert("staff") }
            if try await test.send(.get, "/sign-in/\(signInLink)").status == 200 { open.insert("sign-in link") }
            if try await test.send(.get, "/reset/\(resetLink)").status == 200 { open.insert("reset link") }
            let verified = try await test.ask("verify_subscription", ["token": app]).xml
            if verified.contains("state=\"active\"") { open.insert("app") }
            if try await !test.service.appPasswords.list(of: account).isEmpty { open.insert("app password") }
            for (name, token) in [("own", own), ("other", other)] {
                let headers: HTTPFields = ["Authorization": "Bearer \(token)"]
                if try await test.send(.get, "/v1/shelf", headers: headers).status == 200 { open.insert(name) }
            }
            let freed = try await test.service.devices.list(of: account).map { $0.freedAt != nil }
            if freed != [true] { open.insert("device") }
            return open
        }
    }

    @Test func `is the owner's alone after a new password on their own page`() async throws {
        let inside = try await Inside()
        #expect(
            try await inside.open() == [
                "staff", "sign-in link", "reset link", "app", "app password", "own", "other", "device",
            ]
        )
        let body: JSON = ["current": .string(StaffPage.password), "new": "an altogether other one"]
        #expect(try await inside.call(.post, "/v1/account/password", body).status == 204)
        #expect(try await inside.open() == ["own"])
        inside.test.clock.advance(by: .seconds(2))
        #expect(await inside.test.opening(inside.pair, "issue-1") != .opens)
        #expect(try await inside.staff.signedIn(inside.account.name).status == 401)
    }

    @Test(arguments: ["the operator", "a link"])
    func `is removed by a new password from others`(who: String) async throws {
        let inside = try await Inside()
        if who == "a link" {
            let (path, fresh) = ("/reset/\(inside.resetLink)", "an+altogether+other+one")
            let request = HTTPRequest(
                .post,
                path,
                headers: ["Origin": "http://localhost", "Content-Type": "application/x-www-form-urlencoded"],
                body: Array("password=\(fresh)&again=\(fresh)".utf8),
                peer: .network(address: "192.0.2.1", port: 1)
            )
            #expect(await inside.test.service.router.respond(to: request).status.rawValue == 303)
        } else {
            let change = AccountAdministration.Change(password: "an altogether other one")
            try await inside.test.service.desk.change(inside.account.id, change, by: actor)
        }
        #expect(try await inside.open().isEmpty)
    }

    @Test func `shows where it is signed in, the administrators' page too, and is signed out everywhere else`() async throws {
        let inside = try await Inside()
        let sessions = try await inside.call(.get, "/v1/account/sessions").json["sessions"]?.array ?? []
        #expect(sessions.count == 4)
        #expect(sessions.filter { $0["staff"] == true }.count == 1)
        let ended = try await inside.call(.delete, "/v1/account/sessions")
        #expect(ended.json["ended"] == 3)
        #expect(try await inside.open() == ["own", "app password"], "those are listed by themselves")
        inside.test.clock.advance(by: .seconds(1))
        let (status, again) = try await inside.staff.signedIn(inside.account.name)
        #expect(status == 201)
        let listed = try await inside.call(.get, "/v1/account/sessions").json["sessions"]?.array ?? []
        let one = try #require(listed.first { $0["staff"] == true }?["id"]?.string)
        #expect(try await inside.call(.delete, "/v1/account/sessions/\(one)").status == 204)
        #expect(try await again.call(.get, "/admin/v1/accounts").status == 401)
    }

    @Test(arguments: ["renew_token", "verify_subscription"])
    func `loses the device and the credentials of a session whose old token comes up again`(call: String) async throws {
        let inside = try await Inside()
        #expect(try await inside.test.ask("renew_token", ["token": inside.app]).xml.hasPrefix("<token>"))
        inside.test.clock.advance(by: .seconds(600))
        #expect(await inside.test.opening(inside.pair, "issue-1") == .opens)
        _ = try await inside.test.ask(call, ["token": inside.app])
        #expect(try await inside.test.service.devices.list(of: inside.account).map(\.freedAt) == [inside.test.clock.now])
        inside.test.clock.advance(by: .seconds(2))
        #expect(await inside.test.opening(inside.pair, "issue-1") != .opens)
        #expect(try await inside.open().isSuperset(of: ["own", "other", "staff", "sign-in link"]), "others go on")
    }

    @Test(arguments: ["sign_out", "renew_token", "verify_subscription"])
    func `ends no other account's links, though its session is from before sessions had families`(call: String) async throws {
        let inside = try await Inside()
        let test = inside.test
        let bob = try await test.service.desk.create("bob", password: StaffPage.password, by: actor)
        let link = try await test.service.accounts.makeSignInLink(for: bob)
        let signedIn = try await test.ask("sign_in", ["username": "bob", "password": StaffPage.password, "uuid": "other"])
        try await test.service.database.write {
            try $0.run(SQL("UPDATE sessions SET family = '' WHERE purpose = 'session'"), [])
        }
        _ = try await test.ask("renew_token", ["token": inside.app])
        if call != "sign_out" { test.clock.advance(by: .seconds(600)) }
        _ = try await test.ask(call, ["token": inside.app])
        #expect(try await test.ask("verify_subscription", ["token": inside.app]).xml.contains("stale"))
        #expect(try await test.send(.get, "/sign-in/\(link)").status == 200)
        let token = signedIn.token
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("inactive"))
    }
}
