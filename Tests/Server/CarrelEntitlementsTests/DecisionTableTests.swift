// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelXML
import Testing

/// Entitlements through the calls themselves: every user state × token × device × model × product. The expected results are
/// written down here again, one letter per case.
@Suite(.onBothDatabases)
struct `The decision table` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    /// An account's entitlements.
    private enum Model: CaseIterable {
        case nothing, everything, everythingEnded, everythingToCome, issues, issuesEnded, listed, listedEnded
        case bought, giftEnded, giftBesideEverythingEnded

        /// The results for the products in their order: G granted, N not entitled, E expired.
        var row: [Character] {
            let letters =
                switch self {
                case .nothing, .everythingToCome: "NNNNG"
                case .everything: "GGGGG"
                case .everythingEnded: "EEEEG"
                case .issues: "NGGGG"
                case .issuesEnded: "NGGEG"
                case .listed, .listedEnded, .bought: "NGNNG"
                case .giftEnded: "NENNG"
                case .giftBesideEverythingEnded: "EGEEG"
                }
            return Array(letters)
        }
        /// Whether a subscription runs.
        var isActive: Bool { [.everything, .issues, .listed].contains(self) }
        /// Whether products are listed one by one.
        var isListed: Bool { ![.nothing, .everything, .everythingEnded, .everythingToCome].contains(self) }
    }

    private enum Token: CaseIterable { case none, garbage, neverWas, live, aged, renewed, ended, reused }
    private enum Device: CaseIterable { case known, nameless, revoked }

    /// Days before now on which the products came out, in the order of the rows.
    private static let published: [(id: String, age: Int)] = [
        ("early", 60), ("during", 40), ("grace", 20), ("late", 10), ("free", 60),
    ]
    private static let closed = ["draft", "withdrawn", "unknown", ""]

    private func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

    private func service() async throws -> TestService {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
        for (id, age) in Self.published + [("draft", 40), ("withdrawn", 40)] {
            try await test.add(product: id, issuedAt: test.clock.now - days(age))
        }
        try await test.service.database.write { transaction in
            try transaction.run(SQL("UPDATE editions SET price = 'free' WHERE product_id = 'free'"))
            for id in ["draft", "withdrawn"] {
                try transaction.run(SQL("UPDATE editions SET state = $1 WHERE product_id = $1"), [.text(id)])
            }
        }
        let plans = [
            Plan(name: "everything", scope: .everything), Plan(name: "issues", scope: .issues, graceIssues: 1),
            Plan(name: "listed", scope: .listed, products: ["during"]),
        ]
        for plan in plans { try await test.service.subscriptions.createPlan(plan, by: staff) }
        return test
    }

    private func give(_ model: Model, to account: Account, _ test: TestService) async throws {
        let (subscriptions, now) = (test.service.subscriptions, test.clock.now)
        func plan(_ name: String, from start: Int, to end: Int? = nil) async throws {
            _ = try await subscriptions.grant(
                plan: name,
                to: account,
                start: now - days(start),
                end: end.map { now - days($0) },
                by: staff
            )
        }
        switch model {
        case .nothing: break
        case .everything: try await plan("everything", from: 50)
        case .everythingEnded: try await plan("everything", from: 50, to: 30)
        case .everythingToCome: try await plan("everything", from: -1)
        case .issues: try await plan("issues", from: 50)
        case .issuesEnded: try await plan("issues", from: 50, to: 30)
        case .listed: try await plan("listed", from: 50)
        case .listedEnded: try await plan("listed", from: 50, to: 30)
        case .bought: _ = try await subscriptions.give("during", to: account, as: .purchase, by: staff)
        case .giftEnded: _ = try await subscriptions.give("during", to: account, as: .gift, end: now - days(1), by: staff)
        case .giftBesideEverythingEnded:
            try await plan("everything", from: 50, to: 30)
            _ = try await subscriptions.give("during", to: account, as: .gift, by: staff)
        }
    }

    /// A token in a state, of an account that is signed in on a device.
    private func make(_ token: Token, _ device: Device, _ name: String, _ account: Account, _ test: TestService) async throws
        -> String
    {
        var asked = ["username": name, "password": password]
        if device != .nameless { asked["uuid"] = "phone" }
        // A network is let sign in thirty times in a minute.
        test.clock.advance(by: .seconds(4))
        let reply = try await test.ask("sign_in", asked)
        let signedIn = reply.token
        #expect(signedIn.hasPrefix("cs_"), "\(reply.xml)")
        if token == .renewed || token == .reused { _ = try await test.ask("renew_token", ["token": signedIn]) }
        let ids = try await test.service.devices.list(of: account).map(\.id)
        try await test.service.database.write { transaction in
            let of: [SQLValue] = [.text(account.id)]
            switch token {
            case .aged:
                let end = SQLValue.integer((test.clock.now + days(30)).milliseconds)
                try transaction.run(SQL("UPDATE sessions SET expires_at = $1 WHERE account_id = $2"), [end] + of)
            case .ended: try transaction.run(SQL("UPDATE sessions SET expires_at = 1 WHERE account_id = $1"), of)
            case .reused:
                try transaction.run(
                    SQL("UPDATE sessions SET renewed_at = 1 WHERE account_id = $1 AND renewed_at IS NOT NULL"),
                    of
                )
            default: break
            }
        }
        if device == .revoked {
            for id in ids { try await test.service.devices.revoke(id, of: account, isOwner: false, by: staff) }
        }
        switch token {
        case .none: return ""
        case .garbage: return String(signedIn.reversed())
        case .neverWas:
            // Its checksum needs no key, and is right.
            let random = Random.bytes(32)
            return "cs_" + Base64URL.encode(random + SHA256.hash(random.rawSpan).prefix(4))
        default: return signedIn
        }
    }

    @Test func `gives every combination its answer`() async throws {
        let test = try await service()
        var (cases, number, wrong) = (0, 0, [String]())
        for isSuspended in [false, true] {
            for token in Token.allCases {
                for device in Device.allCases {
                    for model in Model.allCases {
                        number += 1
                        let name = "reader-\(number)"
                        let account = try await test.service.desk.create(name, password: password, by: staff)
                        try await give(model, to: account, test)
                        let shown = try await make(token, device, name, account, test)
                        if isSuspended { try await test.service.desk.setSuspended(true, account.id, by: staff) }
                        let isKnown = [.live, .aged, .renewed].contains(token) && device != .revoked

                        let state = try await test.ask("verify_subscription", ["token": shown])
                        let expectedState =
                            switch (isKnown, isSuspended, token, model.isActive) {
                            case (false, _, _, _): "stale"
                            case (_, true, _, _): "suspended"
                            case (_, _, .renewed, _), (_, _, .aged, _): "stale"
                            case (_, _, _, let isActive): isActive ? "active" : "inactive"
                            }
                        let issues =
                            isKnown && !isSuspended && model.isListed
                            ? zip(Self.published, model.row).filter { $1 == "G" }.map(\.0.id) : nil
                        let root = try XMLElement.parse(Array(state.xml.utf8).rawSpan)
                        let listed = root.child("issues")?.children.map(\.text)
                        if root["state"] != expectedState || listed.map(Set.init) != issues.map(Set.init) {
                            wrong.append("\(isSuspended) \(token) \(device) \(model): \(state.xml)")
                        }

                        let products = Self.published.map(\.id) + Self.closed
                        for (product, letter) in zip(products, model.row + Self.closed.map { _ in "N" }) {
                            let asked = try await test.ask("edition_credentials", ["token": shown, "product_id": product])
                            let expected =
                                switch (isKnown, isSuspended, letter) {
                                case (false, _, _): "notrecognised"
                                case (_, true, _): "suspended"
                                case (_, _, "G"): "granted"
                                case (_, _, "E"): "expired"
                                default: "notentitled"
                                }
                            let found = try XMLElement.parse(Array(asked.xml.utf8).rawSpan)
                            let said = found.child("error")?["status"] ?? (found.child("userid") == nil ? "nothing" : "granted")
                            if said != expected {
                                wrong.append("\(isSuspended) \(token) \(device) \(model) \(product): \(said), not \(expected)")
                            }
                            cases += 1
                        }
                    }
                }
            }
        }
        #expect(cases == 2 * 8 * 3 * 11 * 9)
        #expect(wrong.count == 0, "\(wrong.prefix(5))")
    }

    private enum Limit: CaseIterable { case none, configured, ofPlan, ofAccount }
    private enum Held: CaseIterable { case nothing, thisOne, another, anotherFreed, anotherFreedLongAgo }

    @Test func `of signing in is complete too: user × password × devices × limit`() async throws {
        var cases = 0
        for limit in Limit.allCases {
            for held in Held.allCases {
                for isSuspended in [false, true] {
                    let test = try await TestService(with: .editionDelivery) {
                        $0.passwordCost = .init(memory: 64, passes: 1)
                        // The nearer limit counts, though it is the wider one.
                        $0.subscription.devices.limit = limit == .none ? nil : 1
                    }
                    let account = try await test.service.desk.create("alice", password: password, by: staff)
                    if limit == .ofPlan || limit == .ofAccount {
                        let plan = Plan(name: "gold", scope: .everything, deviceLimit: limit == .ofPlan ? 2 : 1)
                        try await test.service.subscriptions.createPlan(plan, by: staff)
                        _ = try await test.service.subscriptions.grant(plan: "gold", to: account, by: staff)
                    }
                    if limit == .ofAccount { try await test.service.desk.setDeviceLimit(2, of: account.id, by: staff) }
                    let most = limit == .none ? Int.max : limit == .configured ? 1 : 2
                    var others = held == .nothing || held == .thisOne ? [] : ["tablet"]
                    if !others.isEmpty, most == 2 { others.append("car") }
                    for device in held == .thisOne ? ["phone"] : others {
                        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": device])
                        #expect(reply.xml.hasPrefix("<token>"), "\(limit): \(device) has a slot")
                        if held != .anotherFreed, held != .anotherFreedLongAgo { continue }
                        _ = try await test.ask("sign_out", ["token": reply.token])
                    }
                    if held == .anotherFreedLongAgo { test.clock.advance(by: days(1)) }
                    if isSuspended { try await test.service.desk.setSuspended(true, account.id, by: staff) }
                    let isFull = most != Int.max && (held == .another || held == .anotherFreed)
                    for (typed, isRight) in [("wrong horse", false), (password, true)] {
                        let reply = try await test.ask("sign_in", ["username": "alice", "password": typed, "uuid": "phone"])
                        let root = try XMLElement.parse(Array(reply.xml.utf8).rawSpan)
                        let expected: String? = isRight ? (isFull ? "devicelimit" : nil) : "notrecognised"
                        #expect(root["status"] == expected, "\(limit) \(held) \(isSuspended) \(isRight): \(reply.xml)")
                        cases += 1
                    }
                }
            }
        }
        #expect(cases == 4 * 5 * 2 * 2)
    }
}
