// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

/// Archived entries are pruned, and both file and log are verified.
@Suite(.onBothDatabases)
struct `An archive of the audit log` {
    private let local = Peer.local(userID: 0)
    private let day = Duration.seconds(86_400)
    private static let rows = SQL("SELECT number FROM audit ORDER BY number")

    /// A log of ten entries, a day apart, and a page.
    private func service() async throws -> TestService {
        let test = try await TestService(with: .administration)
        try await fill(test, "a")
        for number in 0..<100 {
            let actor = AuditActor("someone", requestID: "request-\(number)")
            try await test.service.audit.group.record("edition.credentials", on: "issue", by: actor, at: test.clock.now)
        }
        try await test.service.audit.seal()
        return test
    }

    private func fill(_ test: TestService, _ prefix: String) async throws {
        for number in 0..<10 {
            _ = try await test.service.desk.create("\(prefix)\(number)", by: .operator)
            test.clock.advance(by: day)
        }
        try await test.service.audit.seal()
    }

    private func archive(_ test: TestService) async throws -> [UInt8] {
        let answer = try await test.send(.get, "/admin/v1/audit/archive", peer: local)
        #expect(answer.status == 200)
        return answer.body
    }

    private func lines(_ file: [UInt8]) throws -> [JSON] {
        try file.split(separator: UInt8(ascii: "\n")).map { line in
            let bytes = Array(line)
            return try JSON.parse(bytes.rawSpan)
        }
    }

    private func verify(_ lines: [JSON], _ test: TestService) async throws -> JSON {
        let body = lines.dropLast().flatMap { $0.write() + [UInt8(ascii: "\n")] }
        let request = HTTPRequest(.post, "/admin/v1/audit/archive/verify", body: body, peer: local)
        let response = await test.service.router.respond(to: request)
        #expect(response.status == .ok)
        let answer = try await response.body.collect(upTo: 1 << 20)
        return try JSON.parse(answer.rawSpan)
    }

    /// The fuzzer's seed: if it were not an archive, the fuzzer would only mutate input that is refused immediately.
    @Test func `is what its fuzz target begins with`() throws {
        guard Engine.current == .sqlite else { return }
        let corpus = try #require(Fixtures.bytes(at: "\(Repository.path)/Fuzz/AuditArchiveFuzz/corpus/archive"))
        let lines = try lines(corpus)
        #expect(lines.count == 4 && lines[0]["format"]?.string == AuditArchive.format)
        #expect(AuditHead.Mark(lines[0]["after"])?.number == 4)
        let rows = lines[1...2].compactMap { SealedAuditRow($0) }
        #expect(rows.map(\.json) == Array(lines[1...2]))
        #expect(AuditHead.Mark(lines[3]["end"]) == rows.last?.mark)
        let page = try #require(lines[2]["page"]?["entries"]?.string.flatMap { CarrelBytes.Base64.decode($0) })
        let entries = try AuditPage.entries(in: page, of: lines[2]["id"]?.string ?? "")
        #expect(entries.map(\.actor) == ["alice", "bob"])
        let key = HMACSHA256(key: Secret([UInt8](repeating: 7, count: 32)))
        let chain = AuditChain(key: key, head: AuditHead(path: "/nonexistent"))
        for row in rows { #expect(try chain.count(row, after: AuditHead.Mark(lines[0]["after"])) == nil) }
    }

    /// The end of a file.
    private func end(_ file: [UInt8]) throws -> (place: JSON, number: Int) {
        let rows = try lines(file)
        let last = try #require(rows.last)
        let place = try #require(last["end"])
        let number = try #require(place["number"])
        return (place, number.int ?? 0)
    }

    private func note(_ file: [UInt8], _ test: TestService) async throws -> Int {
        let end = try end(file).place
        return try await test.send(.post, "/admin/v1/audit/archived", body: end, peer: local).status
    }

    private func numbers(_ test: TestService) async throws -> [Int64] {
        try await test.service.database.read { try $0.rows(Self.rows, []).compactMap { try $0.integerIfPresent(0) } }
    }

    @Test func `is verified by itself, and joins the log that continues after it`() async throws {
        let test = try await service()
        let file = try await archive(test)
        let rows = try lines(file)
        #expect(rows[0]["format"] == "carrel.audit/1")
        #expect(rows[0]["after"] == .null)
        #expect(rows.contains { $0["page"] != nil }, "a page is one line")
        let found = try await verify(rows, test)
        #expect(found["intact"] == true)
        #expect(found["joins"] == true)
        let entries = found["entries"]?.int ?? 0
        #expect(entries >= 110)
        let count = rows[rows.count - 1]["rows"]?.int
        #expect(count == rows.count - 2)
        try await fill(test, "b")
        #expect(try await verify(rows, test)["joins"] == true)
    }

    @Test func `shows where a line was changed, removed or made up`() async throws {
        let test = try await service()
        let rows = try lines(try await archive(test))
        func changed(_ place: Int, _ name: String, _ value: JSON) throws -> [JSON] {
            var object = try #require(rows[place].object)
            object[name] = value
            var all = rows
            all[place] = .object(object)
            return all
        }
        let page = try #require(rows.firstIndex { $0["page"] != nil })
        var other = try #require(rows[page]["page"]?.object)
        other["entries"] = .string("AQID")
        var removed = rows
        removed.remove(at: 4)
        var attempts = [removed]
        attempts.append(try changed(3, "actor", "somebody else"))
        attempts.append(try changed(3, "at", 1))
        attempts.append(try changed(3, "number", 9))
        attempts.append(try changed(page, "page", .object(other)))
        attempts.append(try changed(0, "after", ["number": 1, "seal": "00"]))
        for attempt in attempts {
            #expect(try await verify(attempt, test)["intact"] == false)
        }
        let swapped = try changed(page, "page", .null)
        let body = swapped.dropLast().flatMap { $0.write() + [UInt8(ascii: "\n")] }
        let request = HTTPRequest(.post, "/admin/v1/audit/archive/verify", body: body, peer: local)
        #expect(await test.service.router.respond(to: request).status.rawValue == 400)
    }

    @Test func `is what may be pruned, and the log is verified from the checkpoint on`() async throws {
        let test = try await service()
        let audit = test.service.audit
        #expect(try await audit.prune(olderThan: day) == 0, "nothing is archived")
        let first = try await archive(test)
        #expect(try await note(first, test) == 204)
        let archived = try end(first).number
        try await fill(test, "b")
        let before = try await numbers(test)
        #expect(try await audit.prune(olderThan: .seconds(400 * 86_400)) == 0, "nothing is old enough")
        #expect(try await audit.prune(olderThan: day) == archived)
        try await audit.seal()
        let left = try await numbers(test)
        #expect(left.first == Int64(archived) + 1 && left.count == before.count - archived + 1)
        #expect(try await test.service.database.read { try $0.rows(SQL("SELECT id FROM audit_pages"), []).isEmpty })
        #expect(try await audit.verify() == .intact(count: left.count))
        #expect(try await verify(try lines(first), test)["joins"] == true, "the log begins where the archive ends")
        // New entries are sealed after it, and the next archive continues from the first.
        try await fill(test, "c")
        let second = try lines(try await archive(test))
        let place = try end(first).place
        #expect(second[0]["after"] == place)
        let found = try await verify(second, test)
        #expect(found["intact"] == true && found["joins"] == true)
        var filter = AuditFilter()
        filter.action = "audit.prune"
        #expect(try await audit.list(filter).map(\.reason) == [String(archived)])
    }

    @Test func `leaves a log that is pruned to its end, and continues`() async throws {
        let test = try await service()
        let audit = test.service.audit
        let file = try await archive(test)
        #expect(try await note(file, test) == 204)
        _ = try await test.service.database.write { try $0.run(SQL("DELETE FROM audit WHERE number IS NULL"), []) }
        test.clock.advance(by: day + day)
        let end = try end(file).number
        #expect(try await audit.prune(olderThan: day) == end)
        try await audit.seal()
        #expect(try await numbers(test).first == Int64(end) + 1)
        guard case .intact = try await audit.verify() else {
            Issue.record("the chain is broken")
            return
        }
        // Another process, and a home that saw the log long before it was pruned, continue too.
        AuditHead(path: test.service.home.auditHeadPath).forget()
        try AuditHead(path: test.service.home.auditHeadPath).write(.init(number: 2, seal: [1]))
        let other = try await test.another()
        _ = try await other.desk.create("later", by: .operator)
        try await other.audit.seal()
        guard case .intact = try await other.audit.verify() else {
            Issue.record("the chain is broken")
            return
        }
    }

    @Test(arguments: [
        SQL("DELETE FROM audit_marks WHERE name = 'checkpoint'"),
        SQL("UPDATE audit_marks SET number = number + 1 WHERE name = 'checkpoint'"),
        SQL("UPDATE audit_marks SET seal = mac WHERE name = 'checkpoint'"),
        SQL("DELETE FROM audit WHERE number = (SELECT min(number) FROM audit)"),
    ])
    func `has a checkpoint that cannot be moved or removed unseen`(sql: SQL) async throws {
        let test = try await service()
        #expect(try await note(try await archive(test), test) == 204)
        try await fill(test, "b")
        #expect(try await test.service.audit.prune(olderThan: day) > 0)
        try await test.service.audit.seal()
        _ = try await test.service.database.write { try $0.run(sql, []) }
        guard case .broken = try await test.service.audit.verify() else {
            Issue.record("the change was not seen")
            return
        }
    }

    @Test func `is noted by the server alone, for a place that the log has`() async throws {
        let test = try await service()
        let mac: [UInt8] = [1, 2, 3]
        let file = try await archive(test)
        let end = try end(file).number
        let made: JSON = ["number": .integer(end), "seal": "00"]
        #expect(try await test.send(.post, "/admin/v1/audit/archived", body: made, peer: local).status == 409)
        let forged = SQL("INSERT INTO audit_marks (name, number, seal, mac) VALUES ('archived', $1, $2, $2)")
        _ = try await test.service.database.write { try $0.run(forged, [.integer(Int64(end)), .blob(mac)]) }
        test.clock.advance(by: day + day)
        await #expect(throws: ServerError.self) { try await test.service.audit.prune(olderThan: day) }
        #expect(try await numbers(test).first == 1)
        // Only the operator archives.
        let page = try await test.staffPage(.owner)
        #expect(try await page.call(.get, "/admin/v1/audit/archive").status == 403)
        #expect(try await page.call(.post, "/admin/v1/audit/archived", made).status == 403)
    }
}
