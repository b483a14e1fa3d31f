// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `Who calls` {
    private let local = Peer.local(userID: 0)

    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        try await TestService(.silence) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            configure(&$0)
        }
    }

    @Test func `the administrators' interface is in the log: the operator, a back-office key, a member of staff`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.admin)
        let made = try await test.service.accounts.createServiceKey(name: "shop", role: .service)
        let reader = try await test.service.desk.create("reader", by: .operator)
        let bearer: HTTPFields = ["Authorization": "Bearer \(made.text)"]
        let account = "/admin/v1/accounts/\(reader.id)"
        #expect(try await test.call(.post, "/admin/v1/accounts", body: ["name": "one"], peer: local).status == 201)
        #expect(try await test.call(.delete, "\(account)/sessions", peer: local).status == 200)
        #expect(try await test.call(.post, "/admin/v1/accounts", headers: bearer, body: ["name": "two"]).status == 201)
        let scoped: JSON = ["name": "x", "scopes": ["sync"]]
        #expect(try await test.call(.post, "\(account)/app-passwords", headers: bearer, body: scoped).status == 201)
        #expect(try await page.call(.post, "/admin/v1/accounts", ["name": "three"]).status == 201)
        #expect(try await page.call(.post, "\(account)/reset-links", [:]).status == 201)
        func actor(_ action: String, of name: String) async throws -> String? {
            var filter = AuditFilter()
            (filter.action, filter.about) = (action, try await test.service.accounts.find(named: name)?.id)
            return try await test.service.audit.list(filter).first?.actor
        }
        let member = try #require(page.account?.id)
        for (name, expected) in [("one", "operator"), ("two", made.key.id), ("three", member)] {
            #expect(try await actor("account.create", of: name) == expected)
        }
        #expect(try await actor("app-password.create", of: "reader") == made.key.id)
        #expect(try await actor("account.reset-link", of: "reader") == member)
    }

    @Test func `and has an invalid or revoked key is anonymous`() async throws {
        let test = try await service()
        _ = try await test.service.accounts.findOrCreate(named: "alice")
        for value in ["Bearer", "Bearer ", "Bearer x", "bearer cs_x", "Basic eDp5", "Token x", ""] {
            #expect(try await test.call(.get, "/admin/v1/accounts", headers: ["Authorization": value]).status == 401, "\(value)")
        }
    }

    @Test func `the shelf is told what did not work: the name and app password, or nothing at all`() async throws {
        let test = try await service()
        func told(_ value: String?) async throws -> String? {
            let headers: HTTPFields = value.map { ["Authorization": $0] } ?? [:]
            let answer = try await test.call(.get, "/v1/shelf", headers: headers)
            #expect(answer.status == 401)
            return answer.json["detail"]?.string
        }
        #expect(try await told(nil) == "you are not signed in")
        #expect(try await told("Bearer x") == "you are not signed in")
        #expect(try await told(basic("alice", "x")) == "this name and app password do not give access to this")
        #expect(try await told("bAsIc eDp5") == "this name and app password do not give access to this")
    }

    @Test func `and is a guest sees the guest account's shelf, or none if it is suspended or missing`() async throws {
        let test = try await service { $0.guestAccount = "alice" }
        #expect(try await test.call(.get, "/v1/shelf").status == 401)
        let order = try await test.order()
        #expect(try await test.call(.get, "/v1/shelf").json["account"] == ["name": "alice", "guest": true])
        try await test.service.desk.setSuspended(true, order.accountID, by: .operator)
        #expect(try await test.call(.get, "/v1/shelf").status == 401)
    }

    @Test(arguments: [Role.support, .admin])
    func `and is of the staff changes readers, and colleagues only as an owner`(role: Role) async throws {
        let test = try await service()
        let (page, colleague) = (try await test.staffPage(role), try await test.staffPage(.owner))
        let reader = try await test.service.desk.create("reader", by: .operator)
        let id = try #require(colleague.account?.id)
        for (other, status) in [(reader.id, 201), (id, 403)] {
            #expect(try await page.call(.post, "/admin/v1/accounts/\(other)/reset-links", [:]).status == status)
        }
        #expect(try await colleague.call(.post, "/admin/v1/accounts/\(id)/reset-links", [:]).status == 201)
    }
}
