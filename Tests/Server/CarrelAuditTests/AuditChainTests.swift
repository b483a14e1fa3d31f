// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

/// Changes by an attacker who can write to the database, but has neither the master key nor the home.
@Suite(.onBothDatabases)
struct `The chain of the audit log` {
    private func service() async throws -> TestService {
        let test = try await TestService(.silence, with: .administration)
        for name in ["alice", "bob", "carol", "dave"] {
            _ = try await test.service.orders.place(Orders.Request(account: name, titleID: test.title.id))
            _ = try await test.call(.post, "/admin/v1/accounts", body: ["name": .string("\(name)-2")], peer: .local(userID: 0))
            test.clock.advance(by: .seconds(1))
        }
        try await test.service.audit.seal()
        guard case .intact(let count) = try await test.service.audit.verify() else { throw StoreError(.unavailable, "broken") }
        #expect(count >= 4)
        return test
    }

    private func write(_ sql: SQL, _ test: TestService) async throws {
        try await test.service.database.write { try $0.run(sql, []) }
    }

    @Test(arguments: [
        SQL("UPDATE audit SET reason = 'other' WHERE number = 2"), SQL("UPDATE audit SET at = at + 1 WHERE number = 2"),
        SQL("DELETE FROM audit WHERE number = 2"),
        SQL("DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"),
    ])
    func `shows what was changed or removed, its end too`(sql: SQL) async throws {
        let test = try await service()
        try await write(sql, test)
        guard case .broken = try await test.service.audit.verify() else {
            Issue.record("the change was not seen")
            return
        }
    }

    @Test func `cannot be sealed again over a rewritten history`() async throws {
        let test = try await service()
        try await write(SQL("UPDATE audit SET number = NULL, seal = NULL WHERE number >= 2"), test)
        try await write(SQL("UPDATE audit SET reason = 'other' WHERE number IS NULL"), test)
        await #expect(throws: ServerError.self) { try await test.service.audit.seal() }
        guard case .broken(let number) = try await test.service.audit.verify() else {
            Issue.record("the new history was taken for the old one")
            return
        }
        #expect(number == 2)
        let answer = try await test.call(.post, "/admin/v1/audit/verify", peer: .local(userID: 0))
        #expect(answer.json["intact"] == false)
        #expect(answer.json["firstBroken"] == 2)
    }

    @Test func `has one stored last seal, the latest, with concurrent sealing`() async throws {
        let directory = TemporaryDirectory()
        let head = AuditHead(path: directory.file("head"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in (1...60).reversed() {
                group.addTask { try head.write(.init(number: Int64(number), seal: [UInt8(number)])) }
            }
            try await group.waitForAll()
        }
        #expect(try head.read() == .init(number: 60, seal: [60]))
        head.forget()
        try head.write(.init(number: 3, seal: [3]))
        #expect(try head.read()?.number == 3)
    }

    @Test func `continues after another process has sealed`() async throws {
        let test = try await service()
        let home = try Home(at: test.directory.file("other"), missing: .create)
        let other = try await test.another(in: try await home.sharingKey(of: test.directory.path))
        for service in [other, test.service, other] {
            _ = try await service.orders.place(Orders.Request(account: "erin", titleID: test.title.id))
            _ = try await test.call(
                .post,
                "/admin/v1/accounts",
                body: ["name": .string("erin-\(try await service.audit.list(.init()).count)")],
                peer: .local(userID: 0)
            )
            try await service.audit.seal()
        }
        let written = try await test.service.database.read { try $0.rows(SQL("SELECT id FROM audit"), []).count }
        #expect(try await other.audit.verify() == .intact(count: written))
        #expect(try await test.service.audit.verify() == .intact(count: written))
    }
}

extension Home {
    /// The same home for another node: it has the same master key.
    fileprivate func sharingKey(of other: String) async throws -> Home {
        try make()
        try await checkProcess(["cp", "\(other)/master.key", masterKeyPath])
        return self
    }
}
