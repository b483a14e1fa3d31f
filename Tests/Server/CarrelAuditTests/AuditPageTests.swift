// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelThreads
import Glibc
import Testing

/// Under load many entries are one row: readers of the log see no difference, and the chain seals each of them.
@Suite(.onBothDatabases)
struct `Pages of the audit log` {
    private static let accounts = 30
    private static let products = 20
    /// So many, by the hundred, that a search goes from one chunk of pages to the next.
    private static let count = 7000

    private static let pages = SQL("SELECT count(*) FROM audit_pages")

    private struct Log {
        let test: TestService
        /// The recorded entries, newest first.
        let recorded: [AuditEntry]

        var audit: Audit { test.service.audit }

        func rows(_ sql: SQL) async throws -> Int {
            try await test.service.database.read { Int(try $0.row(sql, [])?.integer(0) ?? 0) }
        }

        func change(_ sql: SQL) async throws {
            _ = try await test.service.database.write { try $0.run(sql, []) }
        }
    }

    /// Records many entries concurrently, so that most of them are in pages, and a few one by one.
    private func log() async throws -> Log {
        let test = try await TestService(.silence, with: .administration)
        var recorded: [AuditEntry] = []
        for number in 0..<Self.count {
            test.clock.advance(by: .milliseconds(number % 3 == 0 ? 7 : 0))
            let actor = AuditActor("account-\(number * 7 % Self.accounts)", requestID: "request-\(number)")
            let (product, isRefused) = ("product-\(number * 11 % Self.products)", number % 5 == 0)
            try await test.service.audit.group.record(
                "edition.credentials",
                on: product,
                by: actor,
                at: test.clock.now,
                outcome: isRefused ? .refused : .allowed,
                reason: isRefused ? "expired" : "plan gold"
            )
            // thirty are rows, seventy a page
            if [29, 99].contains(number % 100) { try await test.service.audit.settle() }
            if number % 700 == 699 {
                let order = try await test.service.orders.place(Orders.Request(account: "alice", titleID: test.title.id))
                #expect(order.created)
            }
        }
        try await test.service.audit.settle()
        var filter = AuditFilter()
        filter.limit = 10_000
        recorded = try await test.service.audit.list(filter)
        return Log(test: test, recorded: recorded)
    }

    @Test func `hold most of the concurrent entries, and every entry exists once`() async throws {
        let log = try await log()
        let requests = log.recorded.map(\.requestID).filter { $0.hasPrefix("request-") }
        #expect(requests.count == Self.count)
        #expect(Set(requests).count == Self.count)
        #expect(Set(log.recorded.map(\.id)).count == log.recorded.count)
        #expect(log.recorded.map(\.at) == log.recorded.map(\.at).sorted(by: >))
        #expect(try await log.rows(Self.pages) > 64)
        #expect(try await log.rows(SQL("SELECT count(*) FROM audit WHERE action = 'edition.credentials'")) < Self.count / 2)
        let first = try #require(log.recorded.first { $0.requestID == "request-0" })
        #expect(first.actor == "account-0" && first.subject == "product-0" && first.outcome == .refused)
        #expect(first.reason == "expired" && first.action == "edition.credentials")
    }

    @Test func `are searched as rows are: by whom, on what, when, how it ended, and page by page`() async throws {
        let log = try await log()
        let times = log.recorded.map(\.at)
        let (early, late) = (times[times.count * 2 / 3], times[times.count / 3])
        var filters: [AuditFilter] = []
        for about in [nil, "account-3", "product-4", "nobody-here", "server"] {
            for actor in [nil, "account-3", "server"] {
                for outcome in [nil, AuditEntry.Outcome.refused] {
                    for (since, until) in [(nil, nil), (early, late), (late, nil), (nil, early)] as [(Instant?, Instant?)] {
                        var filter = AuditFilter()
                        (filter.about, filter.actor, filter.outcome) = (about, actor, outcome)
                        (filter.since, filter.until) = (since, until)
                        filters.append(filter)
                    }
                }
            }
        }
        var byAction = AuditFilter()
        byAction.action = "order.create"
        filters.append(byAction)
        // A product that the catalog knows is looked for among credentials, too.
        try await log.test.add(product: "product-4")
        for filter in filters {
            let wanted = log.recorded.filter { entry in
                (filter.about.map { entry.subject == $0 || entry.actor == $0 } ?? true)
                    && (filter.actor.map { entry.actor == $0 } ?? true) && (filter.outcome.map { entry.outcome == $0 } ?? true)
                    && (filter.action.map { entry.action == $0 } ?? true)
                    && (filter.since.map { entry.at >= $0 } ?? true) && (filter.until.map { entry.at < $0 } ?? true)
                    && entry.action != "edition.create"
            }
            var (found, page): ([AuditEntry], AuditFilter) = ([], filter)
            page.limit = max(7, wanted.count / 6)
            while true {
                let some = try await log.audit.list(page)
                found += some.filter { $0.action != "edition.create" }
                guard some.count == page.limit, let last = some.last else { break }
                page.after = (last.at, last.id)
            }
            #expect(found.map(\.requestID) == wanted.map(\.requestID), "\(filter)")
        }
    }

    @Test func `are sealed, each entry of them, and what hides them is seen`() async throws {
        let changes = [
            SQL("UPDATE audit_pages SET entries = filter WHERE id = (SELECT max(id) FROM audit_pages)"),
            SQL("UPDATE audit_pages SET filter = entries WHERE id = (SELECT max(id) FROM audit_pages)"),
            SQL("UPDATE audit_pages SET first_at = first_at + 1 WHERE id = (SELECT max(id) FROM audit_pages)"),
            SQL("UPDATE audit_pages SET at = at + 1 WHERE id = (SELECT max(id) FROM audit_pages)"),
            SQL("UPDATE audit_pages SET id = 'other' WHERE id = (SELECT max(id) FROM audit_pages)"),
            SQL("INSERT INTO audit_pages SELECT 'other', first_at, at, filter, entries FROM audit_pages LIMIT 1"),
            SQL(
                """
                INSERT INTO audit_pages
                SELECT (SELECT min(id) FROM audit WHERE action <> 'audit.page'), first_at, at, filter, entries
                FROM audit_pages LIMIT 1
                """
            ),
            SQL("DELETE FROM audit_pages WHERE id = (SELECT max(id) FROM audit_pages)"),
        ]
        let log = try await log()
        try await log.audit.seal()
        #expect(try await log.audit.verify() == .intact(count: log.recorded.count))
        // In a copy, since every change is to be seen by itself.
        try await log.change(SQL("CREATE TABLE kept AS SELECT * FROM audit_pages"))
        for change in changes {
            try await log.change(change)
            guard case .broken = try await log.audit.verify() else {
                Issue.record("\(change): not seen")
                continue
            }
            try await log.change(SQL("DELETE FROM audit_pages"))
            try await log.change(SQL("INSERT INTO audit_pages SELECT * FROM kept"))
        }
        #expect(try await log.audit.verify() == .intact(count: log.recorded.count))
    }

    @Test func `are in what is handed over to the person whose entries they hold`() async throws {
        let log = try await log()
        let service = log.test.service
        let alice = try await service.database.read {
            try $0.row(SQL("SELECT id FROM accounts WHERE name = 'alice'"), [])?.text(0) ?? ""
        }
        for number in 0..<400 {
            let actor = AuditActor(number % 4 == 0 ? alice : "somebody", requestID: "mine-\(number)")
            try await service.audit.group.record("edition.credentials", on: "p", by: actor, at: log.test.clock.now)
        }
        let answer = try await log.test.send(.get, "/admin/v1/accounts/\(alice)/export", peer: .local(userID: 0))
        let document = try JSON.parse(answer.body.rawSpan)
        let requests = document["audit"]?.array?.compactMap { $0["requestId"]?.string } ?? []
        let mine = requests.filter { $0.hasPrefix("mine-") }
        #expect(Set(mine) == Set((0..<100).map { "mine-\($0 * 4)" }))
        #expect(mine.count == 100)
        let rows = try await log.rows(SQL("SELECT count(*) FROM audit WHERE request_id LIKE 'mine-%'"))
        #expect(rows < 100, "some of them are in pages")
        #expect(!requests.contains { $0.hasPrefix("request-") })
    }

    /// Moves the log away, records many entries, and moves it back after the group has failed. Returns the unwritten entries.
    private func fail(_ log: Log) async throws -> [AuditEntry] {
        try await log.change(SQL("ALTER TABLE audit RENAME TO audit_elsewhere"))
        for number in 0..<100 {
            // refused once the group has failed
            try? await log.audit.group.record("edition.credentials", on: "p", by: AuditActor("\(number)"), at: log.test.clock.now)
        }
        await #expect(throws: (any Error).self) { try await log.audit.settle() }
        try await log.change(SQL("ALTER TABLE audit_elsewhere RENAME TO audit"))
        let entries = log.audit.unwritten
        #expect(entries.count >= 64, "else it was no page that failed")
        return entries
    }

    private func isSettled(_ log: Log) async throws -> Bool {
        for _ in 1...200 {
            if (try? await log.audit.settle()) != nil { return log.audit.unwritten.isEmpty }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test func `are written as they were once the log takes something again`() async throws {
        let log = try await log()
        let before = try await log.rows(Self.pages)
        let entries = try await fail(log)
        #expect(try await isSettled(log))
        #expect(try await log.rows(Self.pages) > before)
        var filter = AuditFilter()
        (filter.about, filter.limit) = ("p", 1000)
        #expect(Set(try await log.audit.list(filter).map(\.id)) == Set(entries.map(\.id)))
        #expect(try await log.audit.list(filter).count == entries.count)
    }

    /// A commit whose answer was lost may have been kept, with a page, too.
    @Test func `are not doubled by a commit that was kept though it failed`() async throws {
        let log = try await log()
        let before = try await log.rows(Self.pages)
        let first = try #require(try await fail(log).first)
        let kept = SQL(
            """
            INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id)
            VALUES ($1, 1, 'server', 'audit.page', '', 'allowed', '', '')
            """
        )
        _ = try await log.test.service.database.write { try $0.run(kept, [.text("\(first.id.dropLast(4))ffff")]) }
        #expect(try await isSettled(log))
        #expect(try await log.rows(Self.pages) == before)
    }
}

struct `A page of the audit log` {
    private func page() -> AuditPage {
        var page = AuditPage(at: Instant(milliseconds: 1_700_000_000_000))
        let texts = ["", "a", "zwölf \u{1F600}", String(repeating: "x", count: 256), "line\nbreak"]
        for number in 0..<50 {
            let at = Instant(milliseconds: Int64(1_700_000_000_000 + (number * 37 % 11)))
            let actor = AuditActor(texts[number % 5] + "\(number)", requestID: texts[number % 3])
            let outcome = AuditEntry.Outcome.allCases[number % 3]
            page.append("do", on: texts[number % 4], by: actor, at: at, outcome: outcome, reason: texts[number % 2])
        }
        return page
    }

    @Test func `is read as it was written`() throws {
        let page = page()
        let entries = try AuditPage.entries(in: page.bytes, of: page.id)
        #expect(entries == page.entries)
        #expect(entries.count == 50)
        #expect(Set(entries.map(\.id)).count == 50)
        #expect(entries.allSatisfy { $0.id.dropLast(4) == page.id.dropLast(4) && $0.id != page.id })
        #expect(entries[2].actor == "zwölf \u{1F600}2")
        #expect(entries[4].actor == "line\u{FFFD}break4")
        #expect(entries[7].subject == String(repeating: "x", count: 256))
        #expect(entries.map(\.outcome).prefix(4) == [.allowed, .refused, .failed, .allowed])
        #expect(entries[1].at == Instant(milliseconds: 1_700_000_000_004))
    }

    @Test func `that is cut off anywhere holds no more than the entries before`() {
        let page = page()
        var whole = 0
        for count in 0..<page.bytes.count {
            if (try? AuditPage.entries(in: Array(page.bytes.prefix(count)), of: page.id)) != nil { whole += 1 }
        }
        #expect(whole == 50)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var other = page.bytes
            for _ in 0..<3 { other[Int.random(in: other.indices, using: &generator)] = .random(in: 0...255, using: &generator) }
            _ = try? AuditPage.entries(in: other, of: page.id)
        }
        let many = (0..<66_000).flatMap { _ in page.bytes.prefix(8) + [0] + [UInt8](repeating: 0, count: 10) }
        #expect(throws: Malformed.self) { try AuditPage.entries(in: many, of: page.id) }
        var other = page.bytes
        other[8] = 3
        #expect(throws: Malformed.self) { try AuditPage.entries(in: other, of: page.id) }
    }

    @Test func `has a filter that holds every id of it, and few others`() {
        var page = AuditPage(at: Instant(milliseconds: 0))
        for number in 0..<1000 {
            page.append(
                "do",
                on: "p\(number)",
                by: AuditActor("a\(number)"),
                at: Instant(milliseconds: 0),
                outcome: .allowed,
                reason: ""
            )
        }
        let filter = page.filter
        #expect((0..<1000).allSatisfy { filter.mayHold("p\($0)") && filter.mayHold("a\($0)") })
        let wrong = (0..<10_000).count { filter.mayHold("b\($0)") }
        #expect(wrong < 300)
        #expect(filter.mayHold("do") && filter.mayHold("allowed") && !filter.mayHold("refused"))
        #expect(filter.bits.count < 3000)
        #expect(!AuditPageFilter(bits: []).mayHold("a"))
    }
}
