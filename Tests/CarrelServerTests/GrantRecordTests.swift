import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelSubscription
import Testing

/// Whoever asks is answered before the record is on the disk; so it must not get lost where the log cannot be written.
@Suite(.onBothDatabases)
struct `The record of credentials that were given out` {
    private static let jam = SQL("ALTER TABLE audit RENAME TO audit_elsewhere")
    private static let unjam = SQL("ALTER TABLE audit_elsewhere RENAME TO audit")

    private struct Shop {
        let test: TestService
        let token: String

        /// Asks for a product's credentials, each time a little later; nil where the call failed.
        func ask(_ product: String) async throws -> Bool? {
            test.clock.advance(by: .milliseconds(1))
            let reply = try await test.ask("edition_credentials", ["token": token, "product_id": product])
            return reply.status == 200 ? reply.pair != nil : nil
        }

        func recorded() async throws -> [String] {
            var filter = Audit.Filter()
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
    }

    private func shop() async throws -> Shop {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        for number in 1...4 { try await test.add(product: "issue-\(number)") }
        let (staff, service) = (Actor("operator"), test.service)
        let alice = try await service.desk.create("alice", password: "correct horse battery", by: staff)
        try await service.subscriptions.createPlan(Plan(name: "all", scope: .everything), by: staff)
        _ = try await service.subscriptions.grant(plan: "all", to: alice, by: staff)
        let reply = try await test.ask("sign_in", ["username": "alice", "password": "correct horse battery"])
        return Shop(test: test, token: String(reply.xml.dropFirst("<token>".count).dropLast("</token>".count)))
    }

    @Test func `is in the log and in the chain as soon as somebody looks, in the order of the answers`() async throws {
        let shop = try await shop()
        for number in [2, 1, 3] { #expect(try await shop.ask("issue-\(number)") == true) }
        #expect(try await shop.recorded() == ["issue-2", "issue-1", "issue-3"])
        let unsealed = try await shop.test.service.database.read {
            try $0.rows(SQL("SELECT id FROM audit WHERE action = 'edition.credentials' AND number IS NULL"), []).count
        }
        #expect(unsealed == 0)
        try await shop.test.service.audit.seal()
        let count = try await shop.test.service.database.read { try $0.rows(SQL("SELECT id FROM audit"), []).count }
        #expect(try await shop.test.service.audit.verify() == .intact(count: count))
    }

    @Test func `waits for a log that cannot be written, and nobody is given anything more until it can be`() async throws {
        let shop = try await shop()
        try await shop.run(Self.jam)
        // Answered before it turns out that the log takes nothing: that record is kept.
        #expect(try await shop.ask("issue-1") == true)
        #expect(await !shop.isSettled())
        #expect(try await shop.ask("issue-2") == nil)
        #expect(try await shop.ask("issue-3") == nil)
        try await shop.run(Self.unjam)
        #expect(try await shop.ask("issue-4") == true)
        #expect(await shop.isSettled())
        #expect(try await shop.recorded() == ["issue-1", "issue-4"])
    }

    @Test func `is not sealed behind a chain whose end was cut off`() async throws {
        let shop = try await shop()
        #expect(try await shop.ask("issue-1") == true)
        try await shop.test.service.audit.seal()
        try await shop.run(SQL("DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"))
        #expect(try await shop.ask("issue-2") == true)
        #expect(try await shop.recorded().last == "issue-2")
        await #expect(throws: ServerError.self) { try await shop.test.service.audit.seal() }
        guard case .broken = try await shop.test.service.audit.verify() else {
            Issue.record("the end that was cut off is not missed")
            return
        }
    }
}
