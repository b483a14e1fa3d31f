// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelOrders
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Testing

private let day = Duration.seconds(86_400)

extension TitleTokenShop {
    func suspend(_ account: Account, _ isSuspended: Bool = true) async throws {
        try await test.service.desk.change(account.id, .init(isSuspended: isSuspended), by: .operator)
    }

    func list(_ player: TestPlayer.Personalized) async throws -> Revocations {
        try Revocations(try await test.service.authority.revocations(), keys: player.keys)
    }

    /// A title without an order, whose key is in the key store.
    func edition() async throws -> String {
        let id = try await test.ingest(EditionFiles.folder(test.directory), "issue-1").edition.title.id
        let kid = KeyID(label: "urn:carrel:title:\(id)")
        let key: JSON = ["key": "000102030405060708090a0b0c0d0e0f"]
        _ = try await test.send(.put, "/admin/v1/content-keys/\(kid.hex)", body: key, peer: .local(userID: 0))
        return id
    }
}

@Suite(.onBothDatabases) struct `A license of an account` {
    @Test(arguments: [false, true])
    func `links the device that redeems its token, which takes a slot`(isEdition: Bool) async throws {
        let shop = try await TitleTokenShop { $0.subscription.devices.limit = 1 }
        let (test, service) = (shop.test, shop.test.service)
        let title = isEdition ? try await shop.edition() : test.title.id
        let (first, second) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        let token = try await shop.make { ($0["title"], $0["account"]) = (.string(title), "alice") }
        let license = try #require(try await shop.redeem(token.sealed, by: first).license)
        let alice = try #require(try await service.accounts.find(named: "alice"))
        let linked = try await service.players.find(first.id)
        #expect(linked.account == alice.id && linked.linkExpiresAt == linked.expiresAt)
        #expect(try await service.devices.list(of: alice).map(\.id) == [linked.device])
        #expect(try await shop.redeem(token.sealed, by: first).license?.id == license.id)
        // without a slot, nothing is redeemed
        let other = try await shop.make { ($0["title"], $0["account"]) = (.string(title), "alice") }
        for (text, session) in [(other.sealed, KeyRequest.Session.persist), (other.message, .persist), (other.stream, .stream)] {
            #expect(try await shop.redeem(text, by: second, as: session).problem == "personalization.device-limit")
        }
        #expect(try await service.players.find(second.id).account == nil)
        let audited = try await service.audit.list(AuditFilter()).filter { $0.action == "player.link" }
        #expect(audited.map(\.subject) == [first.id] && audited.map(\.reason) == [alice.id])
        // the account's page and its devices reach it
        let bearer: HTTPFields = ["Authorization": "Bearer \(try await service.accounts.issueSession(for: alice))"]
        let listed = try await test.call(.get, "/v1/players", headers: bearer).json["players"]?.array ?? []
        #expect(listed.compactMap { $0["id"]?.string } == [first.id])
        try await service.devices.revoke(try #require(linked.device), of: alice, isOwner: false, by: .operator)
        #expect(try await shop.renew(license, by: first) == "personalization.revoked")
        #expect(try await shop.list(first).players == [first.id])
        #expect(try await shop.redeem(other.sealed, by: second).license != nil)
    }

    @Test func `is refused to the device of another account, with everything that its token would have done`() async throws {
        let shop = try await TitleTokenShop()
        let bob = try await shop.test.service.accounts.findOrCreate(named: "bob")
        let session = try await shop.test.service.accounts.issueSession(for: bob)
        let player = try await TestPlayer().personalized(by: shop.test, token: session)
        let token = try await shop.make { $0["account"] = "alice" }
        for (text, session) in [(token.sealed, KeyRequest.Session.persist), (token.message, .persist), (token.stream, .stream)] {
            #expect(try await shop.redeem(text, by: player, as: session).problem == "personalization.linked")
        }
        #expect(try await shop.orders().isEmpty)
        #expect(try await shop.test.service.players.find(player.id).account == bob.id)
        let other = try await TestPlayer().personalized(by: shop.test)
        #expect(try await shop.redeem(token.sealed, by: other).license != nil, "the token is not used")
    }

    @Test(arguments: [false, true])
    func `of a portal's user is for that user's devices alone`(isStream: Bool) async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let service = test.service
        let tokens = `A token redeemed for a license`()
        let session = isStream ? KeyRequest.Session.stream : .persist
        func token(_ user: String) async throws -> String {
            try await tokens.token(test, kind: isStream ? .ms3 : .license) {
                $0.user = BusinessRules.User(id: user, key: .random(count: 16))
            }
        }
        let (free, taken) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        let first = try await free.send(try await free.request(session, of: test, token: try await token("bob")), to: test)
        #expect(first.license != nil)
        let bob = try #require(try await service.accounts.find(named: "bob"))
        #expect(try await service.players.find(free.id).account == bob.id)
        let alice = try await service.accounts.findOrCreate(named: "alice")
        _ = try await `A registration`().send(try await `A registration`().token(test), by: taken, to: test)
        #expect(try await service.players.find(taken.id).account == alice.id)
        let refused = try await taken.send(try await taken.request(session, of: test, token: try await token("bob")), to: test)
        #expect(refused.problem == "personalization.linked")
    }

    @Test(arguments: [false, true])
    func `stops with it, on every device that has one, and is not issued meanwhile`(isEdition: Bool) async throws {
        let shop = try await TitleTokenShop()
        let (test, service) = (shop.test, shop.test.service)
        let title = isEdition ? try await shop.edition() : test.title.id
        let player = try await TestPlayer().personalized(by: test)
        func make() async throws -> TitleTokenShop.Made {
            try await shop.make { ($0["title"], $0["account"], $0["expiresIn"]) = (.string(title), "alice", 31_536_000) }
        }
        let (token, unused) = (try await make(), try await make())
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        let alice = try #require(try await service.accounts.find(named: "alice"))
        // the link ends with the certificate; the license does not
        test.clock.advance(by: day * 91)
        let unlinked = try await player.player.personalized(by: test)
        #expect(unlinked.id == player.id)
        #expect(try await service.players.find(player.id).account == nil)
        try await shop.suspend(alice)
        #expect(try await shop.list(unlinked).licenses == [license.id])
        #expect(try await shop.renew(license, by: unlinked) == "license.suspended")
        #expect(try await shop.redeem(token.sealed, by: unlinked).problem == "license.suspended")
        let other = try await TestPlayer().personalized(by: test)
        for (text, session) in [
            (unused.sealed, KeyRequest.Session.persist), (unused.message, .persist), (unused.stream, .stream),
        ] {
            let problem = try await shop.redeem(text, by: other, as: session).problem
            #expect(problem == "license.suspended")
        }
        let asked = try await shop.ask { ($0["title"], $0["account"]) = (.string(title), "alice") }
        #expect(asked.status == 403 && asked.json["code"] == "license.suspended")
        // a suspension ends; what staff revoke does not
        try await shop.suspend(alice, false)
        #expect(try await shop.list(unlinked).licenses.isEmpty)
        #expect(try await shop.renew(license, by: unlinked) == nil)
        try await shop.suspend(alice)
        _ = try await service.licenses.revoke(license.id, by: .operator)
        try await shop.suspend(alice, false)
        #expect(try await shop.list(unlinked).licenses == [license.id])
    }

    @Test func `is ended by its reader, and by no other`() async throws {
        let shop = try await TitleTokenShop()
        let (test, service) = (shop.test, shop.test.service)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await shop.make { $0["account"] = "alice" }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        func delete(_ name: String) async throws -> Int {
            let account = try await service.accounts.findOrCreate(named: name)
            let session = try await service.accounts.issueSession(for: account)
            return try await test.send(.delete, "/v1/licenses/\(license.id)", headers: ["Authorization": "Bearer \(session)"])
                .status
        }
        #expect(try await test.send(.delete, "/v1/licenses/\(license.id)").status == 401)
        #expect(try await delete("bob") == 404)
        #expect(try await shop.list(player).licenses.isEmpty)
        #expect(try await delete("alice") == 204)
        #expect(try await delete("alice") == 204)
        #expect(try await shop.list(player).licenses == [license.id])
        #expect(try await shop.renew(license, by: player) == "license.ended")
        #expect(try await shop.redeem(token.sealed, by: player).problem == "license.ended")
        #expect(try await service.licenses.list(of: player.id, after: nil, limit: 2).map(\.endedBy) == ["reader"])
    }

    @Test func `includes in export and erasure what its device did before it was linked`() async throws {
        let shop = try await TitleTokenShop()
        let (test, service) = (shop.test, shop.test.service)
        let player = try await TestPlayer().personalized(by: test)
        let secret = try await `A token redeemed for a license`().token(test) {
            $0.contents = [.init(contentID: "urn:x:secret-book", keyID: KeyID(label: "s"), key: .random(count: 16))]
            $0.cookie = "cookie-of-a-portal"
        }
        let license = try #require(
            try await player.send(try await player.request(.persist, of: test, token: secret), to: test).license
        )
        let title = try #require(try await shop.redeem(try await shop.make().sealed, by: player).license)
        let order = try #require(try await shop.orders().first)
        #expect(order.account == "player-\(player.id)")
        _ = try await `A registration`().send(try await `A registration`().token(test), by: player, to: test)
        let alice = try #require(try await service.accounts.find(named: "alice"))
        let export = try await test.send(.get, "/admin/v1/accounts/\(alice.id)/export", peer: .local(userID: 0))
        let text = String(decoding: export.body, as: UTF8.self)
        for part in [license.id, "urn:x:secret-book", title.id, order.order.id, "player.register"] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(try JSON.parse(export.body.rawSpan)["orders"]?.array?.count == 1)
        try await service.erasure.erase(alice.id, by: .operator)
        #expect(try await service.licenses.list(of: nil, after: nil, limit: 9).isEmpty)
        let records = try await service.licenses.redemptions(cookie: nil, start: 0, count: 9)
        #expect(records.count == 3 && records.allSatisfy { $0.contentID.isEmpty && $0.cookie == nil })
        #expect(try await service.accounts.find(named: "player-\(player.id)") == nil)
        #expect(try await service.orders.list(.init()).map(\.order.state) == [.revoked])
        #expect(try await shop.list(player).players == [player.id])
        let again = try await player.send(try await player.request(.persist, of: test, token: secret), to: test)
        #expect(again.problem == "personalization.revoked")
    }
}

@Suite(.onBothDatabases) struct `A license of a player that is deleted` {
    @Test func `is deleted with it, and the license of an account keeps its player`() async throws {
        let shop = try await TitleTokenShop()
        let (test, service) = (shop.test, shop.test.service)
        let (own, linked) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        #expect(try await shop.redeem(try await shop.make().sealed, by: own).license != nil)
        let token = try await shop.make { $0["account"] = "alice" }
        let license = try #require(try await shop.redeem(token.sealed, by: linked).license)
        test.clock.advance(by: day * 121)
        while try await service.housekeeping.run() > 0 {}
        #expect(try await service.players.list(after: nil, limit: 9).map(\.id) == [linked.id])
        #expect(try await service.licenses.list(of: nil, after: nil, limit: 9).map(\.id) == [license.id])
        #expect(try await linked.player.personalized(by: test).id == linked.id)
    }
}

@Suite(.onBothDatabases) struct `The list of what is revoked, for apps of two versions` {
    @Test func `has licenses and serial numbers for those that do not read players`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let tokens = `A token redeemed for a license`()
        var old: [(player: TestPlayer.Personalized, license: String)] = []
        for version in [1, 1, 2] {
            let player = try await TestPlayer().personalized(by: test)
            var request = try await player.request(.persist, of: test, token: try await tokens.token(test))
            request.listVersion = version
            old.append((player, try #require(try await player.send(request, to: test).license).id))
        }
        // the second app is updated
        var renewal = try await old[1].player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = (old[1].license, 1)
        #expect(try await old[1].player.send(renewal, to: test).license != nil)
        for entry in old { _ = try await test.service.players.change(entry.player.id, .revoke, by: .operator) }
        func list() async throws -> Revocations {
            try Revocations(try await test.service.authority.revocations(), keys: old[0].player.keys)
        }
        let first = try await list()
        #expect(first.players == Set(old.map(\.player.id)) && first.licenses == [old[0].license])
        #expect(first.serials == [Hex.encode(old[0].player.certificate.serial)])
        let crl = try RevocationList(try await test.service.authority.certificateList())
        for entry in old { #expect(crl.revokes(entry.player.certificate)) }
        test.clock.advance(by: day * 91)
        while try await test.service.housekeeping.run() > 0 {}
        let later = try await list()
        #expect(later.players == first.players && later.licenses == first.licenses && later.serials.isEmpty)
    }

    @Test func `keeps the entries of staff where there are too many, and warns before`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let now = test.clock.now
        try await test.service.database.write { transaction in
            try RevokedRight.license.revoke("by staff", until: nil, byStaff: true, at: now, in: transaction)
            for number in 1...5 {
                try RevokedRight.license.revoke("\(number)", until: nil, at: now + .seconds(number), in: transaction)
            }
        }
        let found = try await test.service.database.read { try PlayerStore.revoked(at: now, limit: 3, in: $0) }
        #expect(Set(found.rights.map(\.id)) == ["by staff", "5", "4"])
        func warnings() async throws -> [String] {
            test.clock.advance(by: .seconds(61))
            let ready = try await test.call(.get, "/readyz", peer: .local(userID: 0))
            #expect(ready.status == 200 && ready.json["status"] == "ready")
            let texts = ready.json["warnings"]?.array?.compactMap(\.string) ?? []
            let health = try await test.call(.get, "/admin/v1/health", peer: .local(userID: 0)).json
            #expect(health["warnings"]?.array?.compactMap(\.string) ?? [] == texts)
            return texts
        }
        #expect(try await warnings().isEmpty)
        try await test.service.database.write { transaction in
            let many = SQL(
                """
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 79994)
                INSERT INTO revoked_rights (kind, id, revoked_at) SELECT 'license', 'x' || n, 0 FROM numbers
                """
            )
            _ = try transaction.run(many)
        }
        #expect(try await warnings().count == 1)
        #expect(try await warnings().first?.contains("80000 of 100000") == true)
    }
}
