// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import Testing

@testable import CarrelServer

/// The cache of sessions, tested directly: validity, lifetime and eviction.
struct `What is remembered of holdings` {
    private let staff = AuditActor("operator")

    private struct Stand {
        let test: TestService
        let database: CountingDatabase
        let known: EntitlementCache
        let alice: Account
        let holdings: EntitlementSnapshot

        /// Whether anything is known of a hash now.
        func knows(_ hash: [UInt8]) -> Bool { known.find(hash, at: test.clock.now).known != nil }

        func remember(_ hash: [UInt8], _ other: EntitlementSnapshot? = nil) {
            let (_, mark) = known.find(hash, at: test.clock.now)
            known.remember(other ?? holdings, of: hash, since: mark, at: test.clock.now)
        }

        /// Waits for concurrent work.
        func eventually(_ holds: () -> Bool) async throws -> Bool {
            for _ in 0..<5_000 {
                if holds() { return true }
                try await Task.sleep(for: .milliseconds(2))
            }
            return false
        }

        /// An account's entitlements, through one of its sessions.
        static func holdings(of account: Account, _ test: TestService) async throws -> EntitlementSnapshot {
            let token = try #require(Sessions.token(try await test.service.accounts.issueSession(for: account)))
            return try #require(try await test.service.database.read { try EntitlementSnapshot(of: token, in: $0) })
        }
    }

    private func stand(isListening: Bool = true) async throws -> Stand {
        let test = try await TestService(with: .editionDelivery)
        let database = CountingDatabase(test.service.database)
        let known = EntitlementCache(database: database, clock: test.clock)
        if isListening { try await known.begin() }
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let holdings = try await Stand.holdings(of: alice, test)
        return Stand(test: test, database: database, known: known, alice: alice, holdings: holdings)
    }

    /// The hash of a session's token that falls into a set of the table, as one of the many that do.
    private static func hash(_ number: Int, set: Int = 5) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(number) << 11 | UInt64(set))
        bytes.append(bigEndian: UInt64(number))
        return bytes + [UInt8](repeating: 0, count: 16)
    }

    @Test func `is cached for five minutes, and no longer`() async throws {
        let stand = try await stand()
        stand.remember(Self.hash(1))
        let read = stand.test.clock.now
        for (after, isBelieved) in [(0, true), (299_999, true), (300_000, false), (299_999, true), (-1, false), (0, true)] {
            stand.test.clock.set(read + .milliseconds(after))
            await stand.known.look()
            #expect(stand.knows(Self.hash(1)) == isBelieved, "\(after)")
        }
    }

    @Test func `is valid for a second after the last check for others' changes`() async throws {
        let stand = try await stand()
        stand.remember(Self.hash(1))
        stand.database.look(.fails)
        for (step, isBelieved) in [(999, true), (1, false), (9_000, false), (-10_001, false), (1, true)] {
            stand.test.clock.advance(by: .milliseconds(step))
            #expect(stand.knows(Self.hash(1)) == isBelieved, "\(step)")
        }
    }

    @Test func `has it looked after each half second, once at a time, and when the clock was set back`() async throws {
        let stand = try await stand()
        stand.remember(Self.hash(1))
        for step in [0, 499] {
            stand.test.clock.advance(by: .milliseconds(step))
            for _ in 0..<3 { #expect(stand.knows(Self.hash(1))) }
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(stand.database.looks == 0)

        stand.database.look(.isHeld)
        stand.test.clock.advance(by: .milliseconds(1))
        for _ in 0..<3 { #expect(stand.knows(Self.hash(1)), "nobody waits for it") }
        #expect(try await stand.eventually { stand.database.looks > 0 })
        stand.test.clock.advance(by: .milliseconds(499))
        for _ in 0..<3 { #expect(stand.knows(Self.hash(1))) }
        stand.test.clock.advance(by: .milliseconds(1))
        for _ in 0..<3 { #expect(!stand.knows(Self.hash(1))) }
        try await Task.sleep(for: .milliseconds(50))
        #expect(stand.database.looks == 1)

        // What it finds is what was so when it began, so that one more is due.
        stand.database.look(.works)
        #expect(try await stand.eventually { stand.knows(Self.hash(1)) })
        #expect(try await stand.eventually { stand.database.looks == 2 })

        stand.test.clock.advance(by: .seconds(-3600))
        #expect(
            try await stand.eventually {
                stand.remember(Self.hash(2))
                return stand.knows(Self.hash(2))
            }
        )
        #expect(stand.database.looks > 2)
    }

    @Test func `is invalid while changes of others are unknown`() async throws {
        let stand = try await stand()
        stand.remember(Self.hash(1))
        stand.database.look(.fails)
        stand.test.clock.advance(by: .milliseconds(500))
        await stand.known.look()
        stand.test.clock.advance(by: .milliseconds(500))
        #expect(!stand.knows(Self.hash(1)))
        stand.database.look(.works)
        await stand.known.look()
        #expect(stand.knows(Self.hash(1)), "nobody has changed it meanwhile")
    }

    @Test func `caches nothing without change reports`() async throws {
        let stand = try await stand(isListening: false)
        for _ in 0..<3 {
            stand.remember(Self.hash(1))
            #expect(!stand.knows(Self.hash(1)))
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(stand.database.looks == 0)
    }

    @Test func `makes room for the newest of a set, and takes it from the oldest`() async throws {
        let stand = try await stand()
        func known(_ set: Int = 5) -> [Int] { (0..<99).filter { stand.knows(Self.hash($0, set: set)) } }
        for number in 0..<64 { stand.remember(Self.hash(number)) }
        stand.remember(Self.hash(1, set: 6))
        #expect(known() == Array(0..<64))
        for _ in 0..<80 { stand.remember(Self.hash(3)) }
        #expect(known() == Array(0..<64), "one session takes one place")
        stand.remember(Self.hash(0))
        stand.remember(Self.hash(64))
        #expect(known() == [0] + Array(2...64))
        stand.remember(Self.hash(65))
        #expect(known() == [0] + Array(3...65))
        #expect(known(6) == [1])
    }

    @Test func `is of one session, and not of another whose hash begins like it`() async throws {
        let stand = try await stand()
        for number in [0, 1] {
            var other = Self.hash(number, set: 0)
            other[31] = 1
            stand.remember(Self.hash(number, set: 0))
            #expect(stand.knows(Self.hash(number, set: 0)) && !stand.knows(other))
        }
    }

    @Test func `can be forgotten, one by one`() async throws {
        let stand = try await stand()
        stand.known.forget(Self.hash(1))
        for number in 0..<3 { stand.remember(Self.hash(number)) }
        stand.known.forget(Self.hash(1))
        #expect((0..<4).filter { stand.knows(Self.hash($0)) } == [0, 2])
    }

    @Test func `is kept where it is 64 plans, purchases and products, and not where it is one more`() async throws {
        let stand = try await stand()
        for number in 0..<64 {
            _ = try await stand.test.service.subscriptions.give("issue-\(number)", to: stand.alice, as: .gift, by: staff)
        }
        stand.remember(Self.hash(1), try await Stand.holdings(of: stand.alice, stand.test))
        #expect(stand.knows(Self.hash(1)))
        _ = try await stand.test.service.subscriptions.give("issue-64", to: stand.alice, as: .gift, by: staff)
        stand.remember(Self.hash(2), try await Stand.holdings(of: stand.alice, stand.test))
        #expect(!stand.knows(Self.hash(2)))
        stand.remember(Self.hash(3))
        #expect(stand.knows(Self.hash(3)))
    }

    @Test func `stays what it is when another account changes`() async throws {
        let stand = try await stand()
        let bob = try await stand.test.service.accounts.findOrCreate(named: "bob")
        stand.remember(Self.hash(1))
        stand.remember(Self.hash(2), try await Stand.holdings(of: bob, stand.test))
        try await stand.test.service.desk.setSuspended(true, bob.id, by: staff)
        #expect(stand.knows(Self.hash(1)) && !stand.knows(Self.hash(2)))
        try await stand.test.service.desk.setSuspended(true, stand.alice.id, by: staff)
        #expect(!stand.knows(Self.hash(1)))
    }
}
