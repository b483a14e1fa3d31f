// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelXML
import Testing

@Suite(.onBothDatabases)
struct `An answer of 50,000 issues` {
    private static let ids = (1...50_000).map { number in
        let digits = String(number)
        return "com.example.<&\"'>-æ." + String(repeating: "0", count: 5 - digits.count) + digits
    }

    /// Puts the products into the catalog in one transaction.
    private func add(_ ids: [String], to test: TestService) async throws {
        let now = test.clock.now.milliseconds
        try await test.service.database.write { transaction in
            for id in ids {
                let title = Random.uuid()
                try transaction.run(
                    SQL(
                        """
                        INSERT INTO titles (id, kind, source_hash, title, metadata, duration_ms, media_blob, segment_index, created_at)
                        VALUES ($1, 'edition', $2, $3, '{}', 0, '', $2, $4)
                        """
                    ),
                    [.text(title), .blob(Array(title.utf8)), .text(id), .integer(now)]
                )
                try transaction.run(
                    SQL(
                        """
                        INSERT INTO editions (title_id, product_id, price, state, issued_at, updated_at)
                        VALUES ($1, $2, 'paid', 'published', $3, $3)
                        """
                    ),
                    [.text(title), .text(id), .integer(now)]
                )
            }
        }
    }

    @Test func `comes in small pieces, and is one document with all of them in order`() async throws {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
        try await add(Self.ids, to: test)
        let staff = AuditActor("operator")
        let account = try await test.service.desk.create("alice", password: "correct horse battery", by: staff)
        try await test.service.subscriptions.createPlan(Plan(name: "print", scope: .issues), by: staff)
        _ = try await test.service.subscriptions.grant(plan: "print", to: account, by: staff)
        test.clock.advance(by: .seconds(1))
        let token = try await test.ask("sign_in", ["username": "alice", "password": "correct horse battery"]).token

        let request = HTTPRequest(.get, "/verify_subscription?token=\(token)", peer: .network(address: "192.0.2.1", port: 1))
        let response = await test.service.router.respond(to: request)
        #expect(response.status == .ok && response.headers["Content-Type"] == "text/xml; charset=utf-8")
        #expect(response.headers["Cache-Control"] == "no-store, no-cache, must-revalidate, private")
        guard case .stream(nil, let produce) = response.body else {
            Issue.record("the answer is not streamed")
            return
        }
        let pieces = Locked<[[UInt8]]>([])
        try await produce(BodyWriter { piece in pieces.withLock { $0.append(piece) } })
        let all = pieces.withLock { $0 }
        // A piece is sent once it is longer than 32 KiB, so that it exceeds that by less than one issue.
        #expect(all.count > 50 && all.allSatisfy { $0.count <= 32_768 + 200 }, "\(all.count), \(all.map(\.count).max() ?? 0)")

        let document = Array(all.joined())
        let answer = try SubscriptionAnswer.parse(document)
        #expect(answer.state == .active)
        #expect(answer.issues?.count == 50_000 && answer.issues == Self.ids)
        let limits = XMLLimits(bytes: 1 << 24, elements: 60_000)
        let root = try XMLElement.parse(document.rawSpan, limits: limits)
        let issues = try #require(root.child("issues"))
        #expect(root.name.local == "subscription" && issues.children.allSatisfy { $0.name.local == "issue" })
        #expect(issues.children.map(\.text) == Self.ids)
    }
}
