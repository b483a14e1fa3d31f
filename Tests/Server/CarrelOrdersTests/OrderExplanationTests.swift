// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

/// Staff explanations about an account and an audiobook.
@Suite(.onBothDatabases)
struct `Why an audiobook may or may not be listened to` {
    private let local = Peer.local(userID: 0)
    private let day = Duration.seconds(24 * 3600)

    private func explain(_ title: String, to name: String = "alice", _ test: TestService) async throws -> JSON {
        try await test.call(.get, "/admin/v1/explanations?name=\(name)&product=\(title)", peer: local).json
    }

    /// The findings as lines: rule, effect, reason.
    private func lines(_ answer: JSON) -> [String] {
        (answer["findings"]?.array ?? []).map { finding in
            ["rule", "effect", "reason"].map { finding[$0]?.string ?? "" }.joined(separator: " | ")
        }
    }

    @Test func `is told by its id and its ISBN, to who has an account`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order(.init(account: "alice", titleID: test.title.id, number: "4711"))
        for word in [test.title.id, TestService.isbn, "978-0-306-40615-7"] {
            let answer = try await explain(word, test)
            #expect(answer["source"] == "orders" && answer["verdict"] == "granted" && answer["rule"] == "sale 4711", "\(word)")
            #expect(answer["state"]?.isNull == true)
            #expect(answer["titles"]?.array == [["id": .string(test.title.id), "title": "Silence"]])
            #expect(answer["sources"]?.array?.map { $0["name"]?.string } == ["orders"])
            #expect(
                lines(answer) == [
                    "sale 4711 | grants | it has no end; its key has not been issued yet",
                    "listeners of sale 4711 | grants | 0 of 3 places are taken",
                ]
            )
            #expect(!String(decoding: answer.write(), as: UTF8.self).contains(order.id), "it opens the audiobook")
        }
        _ = try await test.service.desk.create("bob", by: .operator)
        let other = try await explain(test.title.id, to: "bob", test)
        #expect(other["verdict"] == "notentitled" && lines(other).isEmpty)
        let nobody = try await explain(test.title.id, to: "nobody", test)
        #expect(nobody["source"]?.isNull == true && nobody["sources"]?.array?.first?["knows"] == false)
        let unknown = try await explain("9780000000002", test)
        #expect(unknown["titles"] == [] && unknown["source"] == "accounts" && unknown["verdict"] == "notentitled")
    }

    @Test func `is told order by order: what it is, and its start and end`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let (start, now) = (test.clock.now, test.clock.now + day)
        func place(_ number: String, from: Instant? = nil, until: Instant? = nil) async throws -> Order {
            let kind: Order.Kind = until == nil ? .sale : .loan
            return try await test.order(
                .init(account: "alice", titleID: test.title.id, kind: kind, start: from, end: until, number: number)
            )
        }
        _ = try await place("later", from: now + day)
        #expect(try await explain(test.title.id, test)["verdict"] == "notentitled")
        _ = try await place("over", until: start + .seconds(60))
        let (returned, revoked) = (try await place("returned", until: now + day), try await place("revoked"))
        let cancelled = try await place("cancelled")
        _ = try await test.service.orders.activate(returned.id)
        test.clock.advance(by: day)
        for (order, verb) in [(returned, "return"), (revoked, "revoke"), (cancelled, "cancel")] {
            #expect(try await test.call(.post, "/admin/v1/orders/\(order.id)/\(verb)", peer: local).status == 200)
        }
        let ended = [
            "sale later | notYet | it starts at \(now + day)", "loan over | lapsed | it ended at \(start + .seconds(60))",
            "loan returned | lapsed | it was returned at \(now)", "sale revoked | none | it was revoked at \(now)",
            "sale cancelled | none | it was cancelled at \(now)",
        ]
        let before = try await explain(test.title.id, test)
        #expect(before["verdict"] == "expired" && before["rule"]?.isNull == true)
        #expect(lines(before).sorted() == ended.sorted())

        let live = try await test.order(.init(account: "alice", titleID: test.title.id, kind: .loan, end: now + day))
        _ = try await test.service.orders.activate(live.id)
        let rule = "loan placed at \(now)"
        let after = try await explain(test.title.id, test)
        #expect(after["verdict"] == "granted" && after["rule"]?.string == rule)
        let key = "its key was first issued at \(now)"
        #expect(lines(after).contains("\(rule) | grants | it lasts until \(now + day); \(key)"))
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        try await test.service.desk.setSuspended(true, account.id, by: .operator)
        let suspended = try await explain(test.title.id, test)
        #expect(suspended["verdict"] == "suspended" && suspended["rule"]?.isNull == true)
        #expect(lines(suspended).contains("account | none | the account is suspended"))
    }

    /// A thousand that were over hid the one that was not: the oldest were looked at, and no others.
    @Test func `is told whatever number of orders there were, the hundred that say most one by one`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let title = test.title.id
        for number in 0..<1_001 {
            let kind = number.isMultiple(of: 2) ? Order.Kind.loan : .sale
            _ = try await test.order(
                .init(account: "alice", titleID: title, kind: kind, end: test.clock.now + .seconds(60), number: "\(number)")
            )
            test.clock.advance(by: .milliseconds(1))
        }
        _ = try await test.order(.init(account: "bob", titleID: title))
        test.clock.advance(by: .seconds(60))
        let over = try await explain(title, test)
        #expect(over["verdict"] == "expired" && lines(over).count == 101)
        #expect(lines(over).first?.hasPrefix("loan 1000 | lapsed") == true)
        #expect(lines(over).last == "other orders | none | 901 more orders are omitted; they change nothing")

        let (soon, good) = (test.clock.now + day, test.clock.now)
        _ = try await test.order(.init(account: "alice", titleID: title, number: "live"))
        _ = try await test.order(.init(account: "alice", titleID: title, start: soon, number: "later"))
        let revoked = try await test.order(.init(account: "alice", titleID: title, number: "revoked"))
        #expect(try await test.call(.post, "/admin/v1/orders/\(revoked.id)/revoke", peer: local).status == 200)
        let live = try await explain(title, test)
        #expect(live["verdict"] == "granted" && live["rule"] == "sale live")
        #expect(lines(live).first == "sale live | grants | it has no end; its key has not been issued yet")
        #expect(lines(live).contains { $0.hasPrefix("other orders | none | 904 more") })
        #expect(lines(live).count == 102 && live["findings"]?.array?.count == 102 && good < soon)
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        for (order, _) in try await test.service.orders.list(.init(account: account.name, titleID: title, limit: 1_000)).prefix(
            950
        ) {
            _ = try? await test.service.orders.revoke(order.id)
        }
        let few = lines(try await explain(title, test))
        #expect(
            few.contains { $0.hasPrefix("sale later | notYet") }
                && few.contains("sale revoked | none | it was revoked at \(good)")
        )
    }

    @Test(arguments: [AccessMode.orderURL, .session])
    func `is told by how many listen, and how many may`(access: AccessMode) async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration]) {
            $0.stream.access = access
            $0.stream.concurrency = 2
        }
        let order = try await test.order(.init(account: "alice", titleID: test.title.id, number: "1"))
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let rule = access == .session ? "listeners" : "listeners of sale 1"
        for number in 0..<3 {
            let token = try await test.service.accounts.issueSession(for: account)
            let headers: HTTPFields = ["Authorization": "Bearer \(token)", "User-Agent": "player \(number)"]
            let peer = Peer.network(address: "192.0.2.\(number + 1)", port: 1)
            let base = "/v1/stream/hls/\(order.id)/"
            let list = try await test.send(.get, "\(base)playlist.m3u8", headers: headers, peer: peer).body
            let segment = try #require(String(decoding: list, as: UTF8.self).split(separator: "\n").first { !$0.hasPrefix("#") })
            let answer = try await test.send(.get, base + segment, headers: headers, peer: peer)
            #expect(answer.status == (number < 2 ? 200 : 403))
            let said =
                number == 0
                ? "\(rule) | grants | 1 of 2 places are taken"
                : "\(rule) | none | all 2 places are taken; if a listener stops now, its place is free in 120 seconds"
            #expect(lines(try await explain(test.title.id, test)).last == said)
        }
        test.clock.advance(by: .seconds(120))
        #expect(lines(try await explain(test.title.id, test)).last == "\(rule) | grants | 0 of 2 places are taken")
        let any = try await TestService(.silence, with: [.streaming, .administration]) { $0.stream.concurrency = 0 }
        _ = try await any.order()
        #expect(
            lines(try await explain(any.title.id, any)).last?.hasSuffix("| grants | 0 listening now; no limit") == true
        )
    }

    @Test func `explains an edition by the id of its title, too`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let edition = try await test.ingest(EditionFiles.folder(test.directory), "issue-1").edition
        _ = try await test.service.desk.create("alice", by: .operator)
        let answer = try await explain(edition.title.id, test)
        #expect(answer["product"] == "issue-1" && answer["titles"] == [] && answer["source"] == "accounts")
        #expect(answer["state"]?.string != nil)
    }
}
