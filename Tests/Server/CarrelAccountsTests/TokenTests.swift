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
import CarrelStore
import Testing

@Suite(.onBothDatabases)
struct `A session's token` {
    private let operatorActor = AuditActor("operator")
    private let day = Duration.seconds(24 * 3600)

    private func service() async throws -> (test: TestService, account: Account, token: String) {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let account = try await test.service.desk.create("alice", by: operatorActor)
        return (test, account, try await test.service.accounts.issueSession(for: account))
    }

    private func status(_ test: TestService, _ token: String) async throws -> Int {
        try await test.send(.get, "/v1/account", headers: ["Authorization": "Bearer \(token)"]).status
    }

    @Test func `has 256 random bits and a checksum, and only its hash is stored`() async throws {
        let (test, account, token) = try await service()
        #expect(token.hasPrefix("cs_"))
        let bytes = try #require(Base64URL.decode(token.dropFirst(3)))
        #expect(bytes.count == 36)
        #expect(Array(SHA256.hash(Array(bytes.prefix(32)).rawSpan).prefix(4)) == Array(bytes.suffix(4)))
        var tokens: Set = [token]
        for _ in 0..<50 { tokens.insert(try await test.service.accounts.issueSession(for: account)) }
        #expect(tokens.count == 51)
        let stored = try await test.service.database.read { transaction in
            try transaction.rows(SQL("SELECT token_hash FROM sessions"), []).map { try $0.blob(0) }
        }
        #expect(stored.contains(SHA256.hash(Array(token.utf8).rawSpan)))
        #expect(!stored.contains(bytes) && !stored.contains(Array(token.utf8)))
    }

    @Test func `that cannot be one is dropped without the database`() async throws {
        let (test, _, token) = try await service()
        var other = Array(token.utf8)
        other[10] = other[10] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let mistyped = String(decoding: other, as: UTF8.self)
        await test.service.database.close()
        for garbage in [mistyped, "cs_", "x", String(token.dropLast()), token + "A", "ck_" + token.dropFirst(3)] {
            #expect(try await status(test, garbage) == 401, "\(garbage)")
        }
        #expect(try await status(test, token) >= 500, "this one takes a look")
    }

    @Test func `ends after 180 days without use`() async throws {
        let (test, _, token) = try await service()
        test.clock.advance(by: day * 180 + .seconds(-1))
        #expect(try await status(test, token) == 200)
        test.clock.advance(by: day * 179)
        #expect(try await status(test, token) == 200, "it was used meanwhile")
        let (other, _, idle) = try await service()
        other.clock.advance(by: day * 180)
        #expect(try await status(other, idle) == 401)
    }

    @Test func `ends after 400 days however much it is used`() async throws {
        let (test, _, token) = try await service()
        for _ in 0..<4 {
            test.clock.advance(by: day * 99)
            #expect(try await status(test, token) == 200)
        }
        test.clock.advance(by: day * 4 + .seconds(-1))
        #expect(try await status(test, token) == 200)
        test.clock.advance(by: .seconds(1))
        #expect(try await status(test, token) == 401)
    }

    @Test func `is to be renewed in its last thirty days, and when it has been`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: operatorActor)
        func state(_ token: String) async throws -> String {
            let reply = try await test.ask("verify_subscription", ["token": token])
            return String(reply.xml.split(separator: "state=\"").last?.prefix { $0 != "\"" } ?? "")
        }
        func token(_ reply: SubscriptionReply) -> String {
            reply.token
        }
        let first = token(try await test.ask("sign_in", ["username": "alice", "password": "correct horse battery"]))
        for _ in 0..<2 {
            test.clock.advance(by: day * 179)
            #expect(try await state(first) == "inactive")
        }
        test.clock.advance(by: day * 12 + .milliseconds(-1))
        #expect(try await state(first) == "inactive")
        test.clock.advance(by: .milliseconds(1))
        #expect(try await state(first) == "stale")
        let second = token(try await test.ask("renew_token", ["token": first]))
        test.clock.advance(by: .milliseconds(599_999))
        let states = [try await state(first), try await state(second)]
        #expect(states == ["stale", "inactive"])
        // The old one is used once more after its grace: the client may be a thief, so both end.
        test.clock.advance(by: .milliseconds(1))
        #expect(try await state(first) == "stale")
        #expect(try await state(second) == "stale")
        #expect(try await test.ask("renew_token", ["token": second]).xml.contains("notrecognised"))
    }

    @Test func `is noted to have been used once a day`() async throws {
        let (test, account, token) = try await service()
        let start = test.clock.now
        func seen() async throws -> [Instant] { try await test.service.accounts.sessions.list(of: account).map(\.seenAt) }
        test.clock.advance(by: day + .milliseconds(-1))
        #expect(try await status(test, token) == 200)
        #expect(try await seen() == [start])
        test.clock.advance(by: .milliseconds(1))
        #expect(try await status(test, token) == 200)
        #expect(try await seen() == [start + day])
    }

    @Test func `ends with its session, for any holder of the account, and no other's does`() async throws {
        let (test, account, token) = try await service()
        let (other, theirs) = (try await test.service.accounts.issueSession(for: account), test.service.accounts.sessions)
        let bob = try await test.service.desk.create("bob", by: operatorActor)
        let bobs = try await test.service.accounts.issueSession(for: bob)
        let family = try #require(try await theirs.list(of: bob).first?.family)
        for (wrong, whose) in [("", account), ("nobody's", account), (family, account)] {
            await #expect(throws: ServerError.self) { try await theirs.end(wrong, of: whose, isOwner: true, by: operatorActor) }
        }
        try await theirs.end(family, of: bob, isOwner: true, by: operatorActor)
        let statuses = [try await status(test, token), try await status(test, other), try await status(test, bobs)]
        #expect(statuses == [200, 200, 401])
        let ends = try await test.service.audit.list(AuditFilter()).filter { $0.action == "session.end" }
        #expect(ends.map(\.subject) == [family])
        await #expect(throws: ServerError.self) { try await theirs.end(family, of: bob, isOwner: true, by: operatorActor) }
    }
}
