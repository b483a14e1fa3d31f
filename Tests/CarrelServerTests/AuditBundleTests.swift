import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelSubscription
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `Credentials in the audit log` {
    private static let products = ["first", "second", "third"]
    private static let names = ["alice", "bob"]
    /// Questions about each product by each account.
    private static let times = 20

    /// Two readers, who asked for the credentials of three products, many at once, and were refused one.
    private struct Kiosk {
        let test: TestService
        let ids: [String]

        func entries(_ set: (inout Audit.Filter) -> Void) async throws -> [Audit.Entry] {
            var filter = Audit.Filter()
            filter.limit = 1000
            set(&filter)
            return try await test.service.audit.list(filter)
        }

        func count(_ set: (inout Audit.Filter) -> Void) async throws -> Int {
            try await entries {
                $0.action = "edition.credentials"
                set(&$0)
            }.count
        }
    }

    private func kiosk() async throws -> Kiosk {
        let test = try await TestService()
        for product in Self.products { try await test.add(product: product, issuedAt: test.clock.now) }
        try await test.service.subscriptions.createPlan(
            Plan(name: "two", scope: .listed, products: Set(Self.products.prefix(2))),
            by: .operator
        )
        var (ids, tokens) = ([String](), [String]())
        for name in Self.names {
            let account = try await test.service.desk.create(name, password: nil, by: .operator)
            _ = try await test.service.subscriptions.grant(plan: "two", to: account, by: .operator)
            ids.append(account.id)
            tokens.append(try await test.service.accounts.issueSession(for: account))
        }
        for _ in 0..<Self.times {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for token in tokens {
                    for product in Self.products {
                        group.addTask {
                            let asked = ["token": token, "product_id": product]
                            return try await test.ask("edition_credentials", asked).pair != nil
                        }
                    }
                }
                var granted = 0
                for try await isGranted in group where isGranted { granted += 1 }
                #expect(granted == 4)
            }
            test.clock.advance(by: .milliseconds(1))
        }
        return Kiosk(test: test, ids: ids)
    }

    private static let rows = SQL("SELECT count(*) FROM audit WHERE action = 'edition.credentials'")
    private static let forge = SQL("UPDATE audit SET bundle = $1 WHERE bundle IS NOT NULL AND number = $2")
    private static let oneNumber = SQL("SELECT number, bundle FROM audit WHERE bundle IS NOT NULL ORDER BY number DESC LIMIT 1")

    @Test func `are found by account, product, outcome, actor and time`() async throws {
        let kiosk = try await kiosk()
        let (alice, times) = (kiosk.ids[0], Self.times)
        #expect(try await kiosk.count { _ in } == 6 * times)
        #expect(try await kiosk.count { $0.about = alice } == 3 * times)
        #expect(try await kiosk.count { $0.actor = alice } == 3 * times)
        #expect(try await kiosk.count { $0.about = "third" } == 2 * times)
        #expect(try await kiosk.count { ($0.about, $0.actor) = ("third", alice) } == times)
        #expect(try await kiosk.count { $0.outcome = .refused } == 2 * times)
        #expect(try await kiosk.count { $0.outcome = .failed } == 0)
        #expect(try await kiosk.count { $0.until = kiosk.test.clock.now - .milliseconds(Int64(times)) } == 0)
        #expect(try await kiosk.count { $0.since = kiosk.test.clock.now - .milliseconds(1) } == 6)
        #expect(try await kiosk.entries { $0.action = "account.create" }.count == 2)
        let entries = try await kiosk.entries { $0.action = "edition.credentials" }
        #expect(Set(entries.map(\.requestID)) == ["in-process"])
        #expect(Set(entries.map(\.reason)) == ["plan two", "notentitled"])
        var filter = Audit.Filter()
        filter.about = "first"
        let named = try await kiosk.test.service.audit.search(filter)
        #expect(Set(named.compactMap(\.actorName)) == Set(Self.names))
    }

    @Test func `are listed once each, page by page, the newest first`() async throws {
        let kiosk = try await kiosk()
        let all = try await kiosk.entries { _ in }
        #expect(zip(all, all.dropFirst()).allSatisfy { ($1.at, $0.id) < ($0.at, $1.id) })
        var (listed, mark) = ([Audit.Entry](), (Instant, String)?.none)
        while true {
            let page = try await kiosk.entries {
                $0.limit = 7
                $0.after = mark
            }
            listed += page
            mark = page.last.map { ($0.at, $0.id) }
            if page.count < 7 { break }
        }
        #expect(listed == all)
        #expect(Set(listed.map(\.id)).count == listed.count)
    }

    @Test func `are looked for a month back, and further when that is asked for`() async throws {
        let kiosk = try await kiosk()
        kiosk.test.clock.advance(by: .seconds(40 * 24 * 3600))
        let account = try await kiosk.test.service.desk.create("carol", password: nil, by: .operator)
        let token = try await kiosk.test.service.accounts.issueSession(for: account)
        _ = try await kiosk.test.ask("edition_credentials", ["token": token, "product_id": "first"])
        #expect(try await kiosk.count { $0.about = "first" } == 1)
        #expect(try await kiosk.count { ($0.about, $0.since) = ("first", Instant(milliseconds: 0)) } == 2 * Self.times + 1)
    }

    @Test func `are fewer rows than entries, and sealed with the others`() async throws {
        let kiosk = try await kiosk()
        let rows = try await kiosk.test.service.database.read { try $0.row(Self.rows, [])?.integer(0) ?? 0 }
        #expect(rows >= Self.times && rows < 6 * Self.times)
        let count = try await kiosk.test.service.audit.seal()
        #expect(try await kiosk.test.service.audit.verify() == .intact(count: count))
        let (number, bundle) = try await kiosk.test.service.database.read { transaction in
            let row = try #require(try transaction.row(Self.oneNumber, []))
            return (try row.integer(0), try row.blob(1))
        }
        for place in [1, bundle.count - 1] {
            var forged = bundle
            forged[place] ^= 1
            try await kiosk.test.service.database.write { [forged] in
                try $0.run(Self.forge, [.blob(forged), .integer(number)])
            }
            #expect(try await kiosk.test.service.audit.verify() == .broken(number: number))
        }
    }

    @Test func `are in what an account is handed of itself, and nobody else's are`() async throws {
        let kiosk = try await kiosk()
        let path = "/admin/v1/accounts/\(kiosk.ids[1])/export"
        let answer = try await kiosk.test.send(.get, path, peer: .local(userID: 0))
        let audit = try JSON.parse(answer.body.rawSpan)["audit"]?.array ?? []
        #expect(audit.count { $0["action"] == "edition.credentials" } == 3 * Self.times)
        #expect(audit.contains { $0["action"] == "account.create" })
        #expect(!String(decoding: answer.body, as: UTF8.self).contains(kiosk.ids[0]))
    }
}
