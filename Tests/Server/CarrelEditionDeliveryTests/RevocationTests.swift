// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Glibc
import Testing

@Suite(.onBothDatabases)
struct `Issued credentials` {
    private let password = "correct horse battery"
    private let operatorPeer = Peer.local(userID: getuid())
    private let staff = AuditActor("operator")

    /// A service with two products and two subscribers to everything, and the second process on the same database.
    private struct Newsstand {
        let test: TestService
        let other: CarrelService
        let alice, bob: Account
        let plan: String
        let tokens: [String: String]

        func pair(_ name: String, _ product: String) async throws -> EditionCredentials.Pair {
            let token = tokens[name] ?? ""
            return try #require(try await test.ask("edition_credentials", ["token": token, "product_id": product]).pair)
        }

        /// Pairs of alice for 1, alice for 2, and bob for 1.
        func pairs() async throws -> [EditionCredentials.Pair] {
            [try await pair("alice", "issue-1"), try await pair("alice", "issue-2"), try await pair("bob", "issue-1")]
        }

        func openings(_ pairs: [EditionCredentials.Pair], at service: CarrelService? = nil) async -> [Opening] {
            var found: [Opening] = []
            for (pair, product) in zip(pairs, ["issue-1", "issue-2", "issue-1"]) {
                found.append(await test.opening(pair, product, at: service))
            }
            return found
        }
    }

    private func newsstand() async throws -> Newsstand {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
        let other = try await test.another()
        try await test.add(product: "issue-1")
        try await test.add(product: "issue-2")
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: staff)
        var (accounts, tokens, plan): ([Account], [String: String], String) = ([], [:], "")
        for name in ["bob", "alice"] {
            let account = try await test.service.desk.create(name, password: password, by: staff)
            plan = try await test.service.subscriptions.grant(plan: "gold", to: account, by: staff).subscription.id
            let reply = try await test.ask("sign_in", ["username": name, "password": password, "uuid": "phone"])
            tokens[name] = reply.token
            accounts.append(account)
        }
        return Newsstand(test: test, other: other, alice: accounts[1], bob: accounts[0], plan: plan, tokens: tokens)
    }

    /// Why credentials become void, and whose are left.
    enum Reason: CaseIterable {
        case suspension, planEnd, password, device, command, product, all

        var left: [Opening] {
            switch self {
            case .all: [.revoked, .revoked, .revoked]
            case .product: [.revoked, .opens, .revoked]
            default: [.revoked, .revoked, .opens]
            }
        }
    }

    private func make(_ reason: Reason, _ stand: Newsstand) async throws {
        let service = stand.test.service
        func revoke(_ body: JSON) async throws {
            let answer = try await stand.test.call(.post, "/admin/v1/credentials/revoke", body: body, peer: operatorPeer)
            #expect(answer.status == 204)
        }
        switch reason {
        case .suspension: try await service.desk.setSuspended(true, stand.alice.id, by: staff)
        case .planEnd: try await service.subscriptions.end(stand.plan, by: staff)
        case .password: try await service.desk.setPassword("another horse battery", of: stand.alice.id, by: staff)
        case .device:
            let device = try #require(try await service.devices.list(of: stand.alice).first)
            try await service.devices.revoke(device.id, of: stand.alice, isOwner: false, by: staff)
        case .command: try await revoke(["account": "alice"])
        case .product: try await revoke(["product": "issue-1"])
        case .all: try await revoke(["all": true])
        }
    }

    @Test(arguments: Reason.allCases)
    func `are void within a second, here and in other processes, and others' live on`(reason: Reason) async throws {
        let stand = try await newsstand()
        let pairs = try await stand.pairs()
        #expect(await stand.openings(pairs) == [.opens, .opens, .opens])
        #expect(await stand.openings(pairs, at: stand.other) == [.opens, .opens, .opens])
        try await make(reason, stand)
        stand.test.clock.advance(by: .seconds(1))
        #expect(await stand.openings(pairs) == reason.left)
        #expect(await stand.openings(pairs, at: stand.other) == reason.left)
        let third = try await stand.test.another()
        #expect(await stand.openings(pairs, at: third) == reason.left, "a process that starts afterwards knows it too")
    }

    @Test func `open immediately after reissue, also in the instant of the revocation`() async throws {
        let stand = try await newsstand()
        let old = try await stand.pairs()
        #expect(await stand.openings(old, at: stand.other) == [.opens, .opens, .opens])
        try await stand.test.service.desk.setSuspended(true, stand.alice.id, by: staff)
        try await stand.test.service.desk.setSuspended(false, stand.alice.id, by: staff)
        let new = try await stand.pairs()
        #expect(await stand.openings(new) == [.opens, .opens, .opens])
        #expect(await stand.openings(new, at: stand.other) == [.opens, .opens, .opens], "which has not read of it")
        stand.test.clock.advance(by: .seconds(1))
        #expect(await stand.openings(old) == [.revoked, .revoked, .opens])
        #expect(await stand.openings(new) == [.opens, .opens, .opens])
    }

    @Test func `stay, when a plan is to end later`() async throws {
        let stand = try await newsstand()
        let pairs = try await stand.pairs()
        try await stand.test.service.subscriptions.end(stand.plan, at: stand.test.clock.now + .seconds(3600), by: staff)
        stand.test.clock.advance(by: .seconds(1))
        #expect(await stand.openings(pairs) == [.opens, .opens, .opens])
    }

    @Test func `go with a purchase that is taken back`() async throws {
        let stand = try await newsstand()
        let carol = try await stand.test.service.desk.create("carol", password: password, by: staff)
        let purchase = try await stand.test.service.subscriptions.give("issue-1", to: carol, as: .gift, by: staff).purchase
        let reply = try await stand.test.ask("sign_in", ["username": "carol", "password": password])
        let token = reply.token
        let asked = try await stand.test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        let pair = try #require(asked.pair)
        #expect(await stand.test.opening(pair, "issue-1") == .opens)
        try await stand.test.service.subscriptions.endPurchase(purchase.id, by: staff)
        stand.test.clock.advance(by: .seconds(1))
        #expect(await stand.test.opening(pair, "issue-1") == .revoked)
    }

    @Test func `from after a backup that was restored open nothing`() async throws {
        let stand = try await newsstand()
        try await stand.test.service.desk.setSuspended(true, stand.bob.id, by: staff)
        let pair = try await stand.pair("alice", "issue-1")
        try await stand.test.service.database.write { try $0.run(SQL("UPDATE credential_serial SET serial = 1")) }
        let restored = try await CarrelService.open(
            stand.test.service.home,
            database: stand.test.service.database,
            clock: stand.test.clock
        )
        #expect(await stand.test.opening(pair, "issue-1", at: restored) == .revoked)
    }

    @Test func `that are forged never touch the database, and genuine ones once a second`() async throws {
        let stand = try await newsstand()
        let pair = try await stand.pair("alice", "issue-1")
        #expect(await stand.test.opening(pair, "issue-1") == .opens)
        await stand.test.service.database.close()
        let forged = EditionCredentials.Pair(userID: pair.userID, password: String(pair.password.reversed()))
        let strange = EditionCredentials.Pair(userID: "B" + pair.userID.dropFirst(), password: pair.password)
        for seconds in [0, 1, 60, 3600] {
            stand.test.clock.advance(by: .seconds(seconds))
            #expect(await stand.test.opening(forged, "issue-1") == .invalid)
            #expect(await stand.test.opening(strange, "issue-1") == .invalid)
            #expect(await stand.test.opening(pair, "issue-1") == (seconds == 0 ? .opens : .failed), "in doubt it stays shut")
        }
    }

    @Test func `survive a change of the secret, and end with it when that is wanted`() async throws {
        let stand = try await newsstand()
        let before = try await stand.pairs()
        let rotated = try await stand.test.call(.post, "/admin/v1/credential-key/rotate", peer: operatorPeer)
        #expect(rotated.status == 200 && rotated.json["key"]?.int == 2 && rotated.json["forgotten"]?.int == 0)
        stand.test.clock.advance(by: .seconds(5))
        let after = try await stand.pairs()
        #expect(after.map { Base64URL.decode($0.userID)?[1] } == [2, 2, 2])
        #expect(before.map { Base64URL.decode($0.userID)?[1] } == [1, 1, 1])
        try await stand.other.credentials.refresh()
        for service in [stand.test.service, stand.other] {
            #expect(await stand.openings(before, at: service) == [.opens, .opens, .opens])
            #expect(await stand.openings(after, at: service) == [.opens, .opens, .opens])
        }
        try await stand.test.service.desk.setSuspended(true, stand.alice.id, by: staff)
        stand.test.clock.advance(by: .seconds(1))
        #expect(await stand.openings(before) == [.revoked, .revoked, .opens], "under either secret")
        #expect(await stand.openings(after) == [.revoked, .revoked, .opens])

        let atOnce = try await stand.test.call(.post, "/admin/v1/credential-key/rotate?atOnce=true", peer: operatorPeer)
        #expect(atOnce.json["key"]?.int == 3 && atOnce.json["forgotten"]?.int == 2)
        #expect(await stand.test.opening(after[2], "issue-1") == .invalid)
        let last = try await stand.pair("bob", "issue-1")
        #expect(await stand.test.opening(last, "issue-1") == .opens)
        try await stand.other.credentials.refresh()
        #expect(await stand.test.opening(after[2], "issue-1", at: stand.other) == .invalid)
        #expect(await stand.test.opening(last, "issue-1", at: stand.other) == .opens)
    }

    @Test func `keep their secret until the last of them is dead`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let keyring = test.service.credentials
        #expect(try await keyring.rotate(atOnce: false, by: staff).forgotten == 0)
        test.clock.advance(by: EditionCredentials.longestLife + .seconds(10))
        #expect(try await keyring.rotate(atOnce: false, by: staff).forgotten == 0, "to the end of the last second")
        test.clock.advance(by: .seconds(1))
        let third = try await keyring.rotate(atOnce: false, by: staff)
        #expect(third.forgotten == 1 && third.id == 4)
    }

    @Test func `are not voided for what cannot be`() async throws {
        let keyring = try await newsstand().test.service.credentials
        for revocation in [
            Revocation.product(""), .product(String(repeating: "x", count: 257)), .account(""), .account("nobody"),
        ] {
            await #expect(throws: ServerError.self, "\(revocation)") { try await keyring.revoke(revocation, by: staff) }
        }
        try await keyring.revoke(.product(String(repeating: "x", count: 256)), by: staff)
    }

    @Test func `are in the audit log when their secret changes, and how`() async throws {
        let test = try await TestService(with: .editionDelivery)
        for atOnce in [false, true] {
            test.clock.advance(by: .seconds(1))
            _ = try await test.service.credentials.rotate(atOnce: atOnce, by: staff)
        }
        let entries = try await test.service.audit.list(AuditFilter()).filter { $0.action == "credentials.rotate" }
        #expect(entries.map(\.reason) == ["at once", ""], "the newest first")
    }

    @Test func `are cached for a second, and no longer`() async throws {
        let stand = try await newsstand()
        let pairs = try await stand.pairs()
        #expect(await stand.openings(pairs, at: stand.other) == [.opens, .opens, .opens])
        try await stand.test.service.credentials.revoke(.all, by: staff)
        stand.test.clock.advance(by: .milliseconds(999))
        #expect(await stand.openings(pairs, at: stand.other) == [.opens, .opens, .opens])
        stand.test.clock.advance(by: .milliseconds(1))
        #expect(await stand.openings(pairs, at: stand.other) == [.revoked, .revoked, .revoked])
    }

    @Test func `are not cached longer because the clock was set back`() async throws {
        let stand = try await newsstand()
        let pairs = try await stand.pairs()
        #expect(await stand.openings(pairs, at: stand.other) == [.opens, .opens, .opens])
        try await stand.test.service.credentials.revoke(.all, by: staff)
        stand.test.clock.advance(by: .milliseconds(-1))
        #expect(await stand.openings(pairs, at: stand.other) == [.revoked, .revoked, .revoked])
    }

    @Test func `are an administrator's to void, but for one account's`() async throws {
        let stand = try await newsstand()
        let key = try await stand.test.service.accounts.createServiceKey(name: "shop", role: .service, by: staff).text
        let headers: HTTPFields = ["Authorization": "Bearer \(key)"]
        func status(_ path: String, _ body: JSON?, _ headers: HTTPFields) async throws -> Int {
            try await stand.test.send(.post, path, headers: headers, body: body).status
        }
        let revoke = "/admin/v1/credentials/revoke"
        #expect(try await status(revoke, ["account": "alice"], [:]) == 401)
        #expect(try await status(revoke, ["account": "alice"], headers) == 204)
        #expect(try await status(revoke, ["account": "nobody"], headers) == 404)
        #expect(try await status(revoke, ["product": "issue-1"], headers) == 403)
        #expect(try await status(revoke, ["all": true], headers) == 403)
        #expect(try await status("/admin/v1/credential-key/rotate", nil, headers) == 403)
        for body: JSON in [
            [:], ["all": false], ["all": true, "product": "x"], ["account": "alice", "product": "x"], ["who": "x"],
        ] {
            #expect(try await status(revoke, body, headers) == 400)
        }
        var filter = AuditFilter()
        filter.action = "credentials.revoke"
        let entries = try await stand.test.service.audit.list(filter)
        #expect(entries.map(\.subject) == [stand.alice.id] && entries.map(\.reason) == ["account"])
    }
}
