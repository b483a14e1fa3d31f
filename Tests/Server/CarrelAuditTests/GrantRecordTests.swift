// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelThreads
import Glibc
import Testing

/// Responses are sent before the record is on disk; so it must not be lost if the log cannot be written.
@Suite(.onBothDatabases)
struct `The record of issued credentials` {
    private static let jam = SQL("ALTER TABLE audit RENAME TO audit_elsewhere")
    private static let insert = SQL(
        """
        INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id)
        VALUES ($1, 1, $2, 'edition.credentials', $3, 'allowed', '', $4)
        """
    )
    private static let unjam = SQL("ALTER TABLE audit_elsewhere RENAME TO audit")

    private struct Shop {
        let test: TestService
        let token: String

        /// Asks for a product's credentials, each time a little later; nil if the call failed.
        func ask(_ product: String) async throws -> Bool? {
            test.clock.advance(by: .milliseconds(1))
            let reply = try await test.ask("edition_credentials", ["token": token, "product_id": product])
            return reply.status == 200 ? reply.pair != nil : nil
        }

        func recorded() async throws -> [String] {
            var filter = AuditFilter()
            filter.action = "edition.credentials"
            return try await test.service.audit.list(filter).filter { $0.outcome == .allowed }.map(\.subject).reversed()
        }

        func run(_ sql: SQL) async throws {
            _ = try await test.service.database.write { try $0.run(sql, []) }
        }

        /// Waits for what was recorded to be on the disk, or to be refused by it.
        func isSettled() async -> Bool {
            (try? await test.service.audit.settle()) != nil
        }

        /// Blocks writes to the log while the value is true.
        func hang(while isHeld: Locked<Bool>) async throws {
            let engine = test.service.database.engine
            _ = try await test.service.database.write { transaction in
                if engine == .postgresql { _ = try transaction.run(SQL("LOCK TABLE audit"), []) }
                while isHeld.withLock({ $0 }) { usleep(1000) }
            }
        }

        /// Whether what was recorded gets to the disk at last.
        func settles() async -> Bool {
            for _ in 1...200 {
                if await isSettled() { return true }
                try? await Task.sleep(for: .milliseconds(50))
            }
            return false
        }

        /// The products of credentials' entries in the order in which they were sealed; those that are not sealed at the end.
        func sealed() async throws -> [(product: String, isSealed: Bool)] {
            let sql = SQL(
                "SELECT subject, number FROM audit WHERE action = 'edition.credentials' ORDER BY number IS NULL, number"
            )
            return try await test.service.database.read {
                try $0.rows(sql, []).map { (try $0.text(0), try $0.integerIfPresent(1) != nil) }
            }
        }
    }

    private func shop() async throws -> Shop {
        let test = try await TestService(with: [.administration, .editionDelivery]) {
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        for number in 1...4 { try await test.add(product: "issue-\(number)") }
        let (staff, service) = (AuditActor("operator"), test.service)
        let alice = try await service.desk.create("alice", password: "correct horse battery", by: staff)
        try await service.subscriptions.createPlan(Plan(name: "all", scope: .everything), by: staff)
        _ = try await service.subscriptions.grant(plan: "all", to: alice, by: staff)
        let reply = try await test.ask("sign_in", ["username": "alice", "password": "correct horse battery"])
        return Shop(test: test, token: String(reply.xml.dropFirst("<token>".count).dropLast("</token>".count)))
    }

    @Test func `is in the log as soon as it is read, and in the chain in the order of the responses`() async throws {
        let shop = try await shop()
        let wanted = ["issue-2", "issue-1", "issue-3"]
        for product in wanted { #expect(try await shop.ask(product) == true) }
        #expect(try await shop.recorded() == wanted)
        if shop.test.service.database.engine == .sqlite {
            #expect(try await shop.sealed().allSatisfy(\.isSealed))
        }
        try await shop.test.service.audit.seal()
        #expect(try await shop.sealed().map(\.product) == wanted)
        let count = try await shop.test.service.database.read { try $0.rows(SQL("SELECT id FROM audit"), []).count }
        #expect(try await shop.test.service.audit.verify() == .intact(count: count))
    }

    @Test func `waits for a log that cannot be written, and no credentials are issued until it can be`() async throws {
        let shop = try await shop()
        try await shop.run(Self.jam)
        // Answered before it turns out that the log takes nothing: that record is kept.
        #expect(try await shop.ask("issue-1") == true)
        #expect(await !shop.isSettled())
        #expect(try await shop.ask("issue-2") == nil)
        #expect(try await shop.ask("issue-3") == nil)
        #expect(shop.test.service.audit.unwritten.map(\.subject) == ["issue-1"])
        let health = try await shop.test.call(.get, "/admin/v1/health", peer: .local(userID: 0)).json
        #expect(health["queues"]?["auditUnwritten"] == 1)
        try await shop.run(Self.unjam)
        #expect(await shop.settles())
        #expect(try await shop.ask("issue-4") == true)
        #expect(try await shop.recorded() == ["issue-1", "issue-4"])
    }

    /// A commit whose answer was lost may have been kept: what was retried must not be there twice, nor stop what comes after it.
    @Test func `is not doubled by a commit that was kept though it failed`() async throws {
        let shop = try await shop()
        #expect(try await shop.ask("issue-1") == true)
        #expect(await shop.isSettled())
        try await shop.run(Self.jam)
        #expect(try await shop.ask("issue-2") == true)
        #expect(await !shop.isSettled())
        let entry = try #require(shop.test.service.audit.unwritten.first)
        // In one transaction: between two, the next attempt could write the entry first.
        _ = try await shop.test.service.database.write {
            _ = try $0.run(Self.unjam, [])
            return try $0.run(Self.insert, [.text(entry.id), .text(entry.actor), .text(entry.subject), .text(entry.requestID)])
        }
        #expect(await shop.settles())
        #expect(try await shop.ask("issue-3") == true)
        #expect(try await shop.recorded().sorted() == ["issue-1", "issue-2", "issue-3"])
    }

    /// A group of only waiting callers leaves nothing to retry.
    @Test func `continues after waiting callers were refused`() async throws {
        let shop = try await shop()
        let isHeld = Locked(true)
        let held = Task { try await shop.hang(while: isHeld) }
        #expect(try await shop.ask("issue-1") == true)
        try await Task.sleep(for: .milliseconds(400))
        let jam = Task { try await shop.run(Self.jam) }
        let waits = Task { try await shop.ask("issue-2") }
        try await Task.sleep(for: .milliseconds(100))
        isHeld.withLock { $0 = false }
        _ = try await held.value
        try await jam.value
        _ = try await waits.value
        try await shop.run(Self.unjam)
        #expect(await shop.settles())
        #expect(try await shop.ask("issue-3") == true)
        #expect(try await shop.recorded().last == "issue-3")
    }

    @Test func `keeps callers waiting while the database hangs`() async throws {
        let shop = try await shop()
        let (isHeld, isAnswered) = (Locked(true), Locked(false))
        let held = Task { try await shop.hang(while: isHeld) }
        #expect(try await shop.ask("issue-1") == true)
        try await Task.sleep(for: .milliseconds(400))
        let second = Task {
            defer { isAnswered.withLock { $0 = true } }
            return try await shop.ask("issue-2")
        }
        try await Task.sleep(for: .milliseconds(200))
        #expect(!isAnswered.withLock { $0 })
        isHeld.withLock { $0 = false }
        _ = try await held.value
        #expect(try await second.value == true)
        #expect(try await shop.recorded() == ["issue-1", "issue-2"])
    }

    @Test func `is not sealed after a truncated chain`() async throws {
        let shop = try await shop()
        #expect(try await shop.ask("issue-1") == true)
        try await shop.test.service.audit.seal()
        try await shop.run(SQL("DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"))
        #expect(try await shop.ask("issue-2") == true)
        #expect(await shop.isSettled())
        let last = try #require(try await shop.sealed().last)
        #expect(last.product == "issue-2")
        #expect(!last.isSealed)
        await #expect(throws: ServerError.self) { try await shop.test.service.audit.seal() }
        guard case .broken = try await shop.test.service.audit.verify() else {
            Issue.record("the end that was cut off is not missed")
            return
        }
    }
}
