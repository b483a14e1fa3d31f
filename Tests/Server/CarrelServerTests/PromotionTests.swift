// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import Testing

/// Access that an admin or support prepared in a reader's account must end when it becomes a staff account.
@Suite(.onBothDatabases)
struct `An account that becomes staff` {
    private let local = Peer.local(userID: 0)

    private func service() async throws -> TestService {
        try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
    }

    private func promote(_ account: Account, to role: String, _ test: TestService) async throws -> JSON {
        let path = "/admin/v1/accounts/\(account.id)/role"
        let answer = try await test.call(.put, path, body: ["role": .string(role)], peer: local)
        #expect(answer.status == 200)
        return answer.json
    }

    /// The account's sessions and links, app passwords and identities.
    private func waysIn(_ account: Account, _ test: TestService) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for (path, list) in [("sessions", "sessions"), ("app-passwords", "appPasswords"), ("identities", "identities")] {
            let answer = try await test.call(.get, "/admin/v1/accounts/\(account.id)/\(path)", peer: local)
            counts[list] = answer.json[list]?.array?.count
        }
        return counts
    }

    @Test(arguments: ["support", "admin", "owner"])
    func `loses every way in that others prepared`(role: String) async throws {
        let test = try await service()
        let service = test.service
        let account = try await service.desk.create("carol", password: StaffPage.password, by: .operator)
        let token = try await service.accounts.issueSession(for: account)
        let signIn = try await test.ask("sign_in", ["username": "carol", "password": StaffPage.password, "uuid": "phone"])
        #expect(signIn.xml.hasPrefix("<token>"))
        _ = try await service.appPasswords.create(for: account, name: "reader", scopes: [.sync], by: .operator)
        let reset = try await service.desk.makeResetLink(for: account.id, by: .operator)
        let link = try await service.accounts.makeSignInLink(for: account)
        #expect(try await test.send(.get, "/sign-in/\(link)").status == 200)
        let identity: JSON = ["issuer": "https://login.example.org", "subject": "mallory"]
        let identities = "/admin/v1/accounts/\(account.id)/identities"
        #expect(try await test.call(.post, identities, body: identity, peer: local).status == 201)
        #expect(try await waysIn(account, test) == ["sessions": 2, "appPasswords": 1, "identities": 1])

        let answer = try await promote(account, to: role, test)
        #expect(try await waysIn(account, test) == ["sessions": 0, "appPasswords": 0, "identities": 0])
        #expect(try await service.accounts.account(ofSession: token) == nil)
        #expect(try await test.ask("verify_subscription", ["token": signIn.token]).xml.contains("stale"))
        #expect(try await StaffPage(test: test).signedIn("carol").status == 401)
        #expect(try await test.send(.get, "/reset/\(reset)").status != 200)
        #expect(try await test.send(.get, "/sign-in/\(link)").status != 200)

        // The link that the answer has is the person's way in.
        let path = try #require(answer["path"]?.string)
        #expect(answer["role"]?.string == role && answer["expiresIn"]?.int == 3600)
        #expect(try await test.send(.get, path).status == 200)
        let request = HTTPRequest(
            .post,
            path,
            headers: ["Origin": "http://localhost", "Content-Type": "application/x-www-form-urlencoded"],
            body: Array("password=a+password+of+her+own&again=a+password+of+her+own".utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        #expect(await service.router.respond(to: request).status.rawValue == 303)
        #expect(try await StaffPage(test: test).signedIn("carol", "a password of her own").status == 201)
    }

    @Test(arguments: [false, true])
    func `never takes a password that was on its way meanwhile`(hasPassword: Bool) async throws {
        let test = try await service()
        let account = try await test.service.desk.create("carol", password: hasPassword ? StaffPage.password : nil, by: .operator)
        let (database, service) = try await test.counted()
        // The password is hashed when the promotion commits.
        database.before(write: 1) { _ = try await test.service.staff.setRole(.support, of: account, by: .operator) }
        let refused = await #expect(throws: ServerError.self) {
            try await service.desk.change(account.id, .init(password: "mallory knows this one"), by: AuditActor("mallory"))
        }
        #expect(refused?.code == .conflict)
        #expect(try await StaffPage(test: test).signedIn("carol", "mallory knows this one").status == 401)
        #expect(try await test.service.desk.details(of: account.id).hasPassword == false, "only the person's link gives one")
        try await test.service.desk.change(account.id, .init(password: "the next one is taken"), by: .operator)
        #expect(try await StaffPage(test: test).signedIn("carol", "the next one is taken").status == 201)
    }

    @Test func `keeps what its person has when its role changes among staff`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.support)
        let account = try #require(page.account)
        #expect(try await promote(account, to: "admin", test)["path"] == nil)
        #expect(try await page.call(.get, "/admin/v1/audit").status == 200)
        #expect(try await promote(account, to: "reader", test)["path"] == nil)
        #expect(try await StaffPage(test: test).signedIn(account.name).status == 401)
        #expect(try await promote(account, to: "support", test)["path"] != nil)
    }

    @Test func `is in the audit log with the identities that it lost`() async throws {
        let test = try await service()
        let account = try await test.service.desk.create("carol", by: .operator)
        let identity: JSON = ["issuer": "https://login.example.org", "subject": "mallory"]
        let identities = "/admin/v1/accounts/\(account.id)/identities"
        #expect(try await test.call(.post, identities, body: identity, peer: local).status == 201)
        _ = try await promote(account, to: "support", test)
        var filter = AuditFilter()
        filter.about = account.id
        let actions = try await test.service.audit.list(filter).map(\.action)
        #expect(Set(actions) == ["account.create", "identity.link", "identity.unlink", "staff.role"])
    }
}
