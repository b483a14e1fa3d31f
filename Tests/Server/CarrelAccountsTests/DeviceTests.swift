// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `The slots of an account's devices` {
    private let password = "correct horse battery"

    private func service(limit: Int) async throws -> TestService {
        let test = try await TestService {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.devices.limit = limit
        }
        _ = try await test.service.desk.create("alice", password: password, by: AuditActor("operator"))
        return test
    }

    /// Signs in a minute later; nil if there is no slot.
    private func signIn(_ device: String, _ test: TestService) async throws -> String? {
        test.clock.advance(by: .seconds(60))
        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": device])
        guard reply.xml.hasPrefix("<token>") else {
            #expect(reply.xml.contains("status=\"devicelimit\""), "\(reply.xml)")
            return nil
        }
        return reply.token
    }

    private func signOut(_ token: String, _ test: TestService) async throws {
        test.clock.advance(by: .seconds(60))
        _ = try await test.ask("sign_out", ["token": token])
    }

    @Test(arguments: [2, 3])
    func `are not handed round without end by devices that are known`(limit: Int) async throws {
        let test = try await service(limit: limit)
        for number in 2..<limit + 1 { #expect(try await signIn("stays-\(number)", test) != nil) }
        var turns = 0
        for turn in 0..<20 {
            guard let token = try await signIn(turn.isMultiple(of: 2) ? "one" : "other", test) else { break }
            turns += 1
            try await signOut(token, test)
        }
        #expect(turns > limit - 1 && turns <= 2 * limit, "\(turns)")
        #expect(try await signIn("third", test) == nil)
        test.clock.advance(by: .seconds(24 * 3600))
        #expect(try await signIn("third", test) != nil)
    }

    @Test func `are their own to leave and come back to, as often as they like`() async throws {
        let test = try await service(limit: 1)
        for _ in 1...10 { try await signOut(try #require(try await signIn("phone", test)), test) }
        #expect(try await signIn("tablet", test) == nil, "the slot is kept for a day")
        let kept = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "tablet"])
        #expect(kept.xml.contains("too often today"))
        _ = try await signIn("phone", test)
        let held = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "tablet"])
        #expect(held.xml.contains("Sign out on one of them first"))
        let two = try await service(limit: 2)
        let (phone, tablet) = (try #require(try await signIn("phone", two)), try #require(try await signIn("tablet", two)))
        try await signOut(phone, two)
        try await signOut(tablet, two)
        for device in ["tablet", "phone", "tablet", "phone"] {
            try await signOut(try #require(try await signIn(device, two)), two)
        }
    }

    @Test(
        arguments: [
            ("Anna's phone", "Anna's phone"), ("a\u{1}b\u{1f}c\u{7f}d e\u{80}", "abcd e"), ("", "unnamed device"),
            ("\u{2}\u{3}", "unnamed device"), (String(repeating: "x", count: 101), String(repeating: "x", count: 100)),
        ]
    )
    func `are listed by names that are fit for lists`(told: String, listed: String) async throws {
        let test = try await service(limit: 2)
        let asked = ["username": "alice", "password": password, "uuid": "phone", "device_name": told]
        for _ in 1...2 { #expect(try await test.ask("sign_in", asked).xml.hasPrefix("<token>")) }
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        #expect(try await test.service.devices.list(of: account).map(\.name) == [listed])
    }

    @Test func `are given back by support without a day's wait, to who lost a device`() async throws {
        for limit in [1, 2] {
            let test = try await service(limit: limit)
            let account = try #require(try await test.service.accounts.find(named: "alice"))
            for number in 1...limit { #expect(try await signIn("lost-\(number)", test) != nil) }
            for device in try await test.service.devices.list(of: account) {
                try await test.service.devices.revoke(device.id, of: account, isOwner: false, by: AuditActor("operator"))
            }
            for number in 1...limit { #expect(try await signIn("new-\(number)", test) != nil) }
            #expect(try await signIn("more", test) == nil)
            #expect(try await signIn("lost-1", test) == nil)
            // What departed before does not count any more either; what departs later does.
            #expect(try await test.service.devices.revokeAll(of: account, by: AuditActor("operator")) == limit)
            for number in 1...limit {
                try await signOut(try #require(try await signIn("newer-\(number)", test)), test)
            }
            #expect(try await signIn("other", test) == nil)
            #expect(try await test.service.devices.revokeAll(of: account, by: AuditActor("operator")) == 0)
            try await signOut(try #require(try await signIn("other", test)), test)
            for number in 2..<limit + 1 { try await signOut(try #require(try await signIn("other-\(number)", test)), test) }
            #expect(try await signIn("last", test) == nil, "these left by themselves")
        }
    }

    @Test func `that their owner frees are kept for a day`() async throws {
        let test = try await service(limit: 1)
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        _ = try await signIn("phone", test)
        let token = try await test.service.accounts.issueSession(for: account)
        let session: HTTPFields = ["Authorization": "Bearer \(token)"]
        let id = try #require(try await test.service.devices.list(of: account).first?.id)
        #expect(try await test.send(.delete, "/v1/account/devices/\(id)", headers: session).status == 204)
        #expect(try await signIn("tablet", test) == nil)
        let path = "/admin/v1/accounts/\(account.id)/devices/\(id)"
        #expect(try await test.send(.delete, path, peer: .local(userID: 0)).status == 204)
        #expect(try await signIn("tablet", test) != nil, "support has excused it")
    }

    /// A session ended by support once counted as a departure of its reader.
    @Test func `are free immediately when support ends a session, and for their owner after a day`()
        async throws
    {
        let test = try await service(limit: 1)
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let token = try await test.service.accounts.issueSession(for: account)
        let own: HTTPFields = ["Authorization": "Bearer \(token)"]
        func session() async throws -> String {
            try #require(try await test.service.accounts.sessions.list(of: account).last { $0.deviceID != nil }).family
        }
        for device in ["phone", "tablet", "reader"] {
            #expect(try await signIn(device, test) != nil)
            let path = "/admin/v1/accounts/\(account.id)/sessions/\(try await session())"
            #expect(try await test.send(.delete, path, peer: .local(userID: 0)).status == 204)
            #expect(try await test.send(.delete, path, peer: .local(userID: 0)).status == 404)
        }
        #expect(try await signIn("watch", test) != nil)
        let path = "/v1/account/sessions/\(try await session())"
        #expect(try await test.send(.delete, path, headers: own).status == 204)
        #expect(try await signIn("television", test) == nil)
        #expect(try await signIn("watch", test) != nil)
    }

    @Test func `are free when they were unused for the length of a session`() async throws {
        let test = try await service(limit: 1)
        let phone = try #require(try await signIn("phone", test))
        test.clock.advance(by: .seconds(100 * 24 * 3600))
        #expect(try await test.ask("verify_subscription", ["token": phone]).xml.contains("inactive"))
        test.clock.advance(by: .seconds(179 * 24 * 3600))
        #expect(try await signIn("tablet", test) == nil, "it was used meanwhile")
        test.clock.advance(by: .seconds(24 * 3600))
        #expect(try await signIn("tablet", test) != nil)
        #expect(try await signIn("phone", test) == nil)
    }
}
