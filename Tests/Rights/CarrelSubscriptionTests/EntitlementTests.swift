// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSubscription
import Testing

private let day: Int64 = 86_400_000
private func at(_ days: Int64) -> Instant { Instant(milliseconds: 1_800_000_000_000 + days * day) }

/// Ten monthly issues, `issue-0` thirty days after `issue--1`… on days 0, 30, …, 270; one free, one draft, one withdrawn.
private let products = Products(
    (0..<10).map { Product(id: "issue-\($0)", issuedAt: at(Int64($0) * 30)) } + [
        Product(id: "free", issuedAt: at(5), isFree: true), Product(id: "draft", issuedAt: at(5), state: .draft),
        Product(id: "withdrawn", issuedAt: at(5), isFree: true, state: .withdrawn),
    ]
)

private func plan(_ scope: Plan.Scope, grace: Int = 0, products: Set<String> = []) -> Plan {
    Plan(name: "gold", scope: scope, graceIssues: grace, products: products)
}

struct `What an account may read` {
    /// A row of the decision table: what it holds, the product, the day, and the verdict.
    struct Row: Sendable, CustomTestStringConvertible {
        let what: String
        let entitlement: Entitlement
        let product: String
        let day: Int64
        let verdict: Entitlement.Verdict
        var testDescription: String { "\(what): \(product) on day \(day)" }
    }

    static func holding(_ plan: Plan, from start: Int64, to end: Int64?) -> Entitlement {
        Entitlement(subscriptions: [Subscription(id: "s", plan: plan, startsAt: at(start), endsAt: end.map(at))])
    }

    static let everything = holding(plan(.everything), from: 10, to: 100)
    static let issues = holding(plan(.issues, grace: 2), from: 30, to: 90)
    static let graceless = holding(plan(.issues), from: 30, to: 90)
    static let listed = holding(plan(.listed, products: ["issue-3"]), from: 10, to: 100)
    static func cancelled(_ scope: Plan.Scope) -> Entitlement {
        holding(plan(scope, grace: scope == .issues ? 2 : 0, products: scope == .listed ? ["issue-3"] : []), from: 30, to: 30)
    }
    static func revoked(_ scope: Plan.Scope) -> Entitlement {
        let plan = plan(scope, products: scope == .listed ? ["issue-3"] : [])
        return Entitlement(subscriptions: [Subscription(id: "s", plan: plan, startsAt: at(10), revokedAt: at(95))])
    }
    static let bought = Entitlement(purchases: [
        Purchase(id: "p", productID: "issue-1"), Purchase(id: "g", productID: "issue-2", kind: .gift, endsAt: at(50)),
    ])

    static let rows: [Row] =
        [
            Row(what: "nothing", entitlement: Entitlement(), product: "issue-0", day: 50, verdict: .notEntitled),
            Row(what: "nothing", entitlement: Entitlement(), product: "free", day: 50, verdict: .granted("free")),
            Row(what: "nothing", entitlement: Entitlement(), product: "withdrawn", day: 50, verdict: .notEntitled),
            Row(what: "suspended", entitlement: Entitlement(isSuspended: true), product: "free", day: 50, verdict: .suspended),
            Row(what: "suspended", entitlement: Entitlement(isSuspended: true), product: "none", day: 50, verdict: .suspended),
            Row(what: "everything", entitlement: everything, product: "issue-0", day: 9, verdict: .notEntitled),
            Row(what: "everything", entitlement: everything, product: "issue-0", day: 10, verdict: .granted("plan gold")),
            Row(what: "everything", entitlement: everything, product: "issue-9", day: 99, verdict: .granted("plan gold")),
            Row(what: "everything", entitlement: everything, product: "issue-0", day: 100, verdict: .expired),
            Row(what: "everything", entitlement: everything, product: "free", day: 100, verdict: .granted("free")),
            Row(what: "everything", entitlement: everything, product: "draft", day: 50, verdict: .notEntitled),
            Row(what: "everything", entitlement: everything, product: "unknown", day: 50, verdict: .notEntitled),
            Row(what: "issues", entitlement: issues, product: "issue-0", day: 50, verdict: .notEntitled),
            Row(what: "issues", entitlement: issues, product: "issue-1", day: 29, verdict: .notEntitled),
            Row(what: "issues", entitlement: issues, product: "issue-1", day: 30, verdict: .granted("plan gold")),
            Row(what: "issues", entitlement: issues, product: "issue-2", day: 500, verdict: .granted("plan gold")),
            // the end itself is outside: an issue of that very moment is the first grace issue
            Row(what: "issues", entitlement: issues, product: "issue-3", day: 500, verdict: .granted("plan gold")),
            Row(what: "issues", entitlement: issues, product: "issue-4", day: 500, verdict: .granted("plan gold")),
            Row(what: "issues", entitlement: issues, product: "issue-5", day: 500, verdict: .expired),
            Row(what: "issues", entitlement: issues, product: "issue-6", day: 500, verdict: .expired),
            Row(what: "issues", entitlement: issues, product: "issue-6", day: 50, verdict: .notEntitled),
            Row(what: "no grace", entitlement: graceless, product: "issue-2", day: 500, verdict: .granted("plan gold")),
            Row(what: "no grace", entitlement: graceless, product: "issue-3", day: 500, verdict: .expired),
            Row(what: "listed", entitlement: listed, product: "issue-3", day: 9, verdict: .notEntitled),
            Row(what: "listed", entitlement: listed, product: "issue-3", day: 500, verdict: .granted("plan gold")),
            Row(what: "listed", entitlement: listed, product: "issue-4", day: 50, verdict: .notEntitled),
            Row(what: "bought", entitlement: bought, product: "issue-1", day: 500, verdict: .granted("purchase")),
            Row(what: "given", entitlement: bought, product: "issue-2", day: 49, verdict: .granted("gift")),
            Row(what: "given", entitlement: bought, product: "issue-2", day: 50, verdict: .expired),
            Row(what: "bought", entitlement: bought, product: "issue-3", day: 50, verdict: .notEntitled),
        ]
        + Plan.Scope.allCases.flatMap { scope in
            [
                Row(
                    what: "cancelled \(scope)",
                    entitlement: cancelled(scope),
                    product: "issue-3",
                    day: 100,
                    verdict: .notEntitled
                ),
                Row(
                    what: "cancelled \(scope)",
                    entitlement: cancelled(scope),
                    product: "issue-1",
                    day: 30,
                    verdict: .notEntitled
                ),
                Row(what: "revoked \(scope)", entitlement: revoked(scope), product: "issue-3", day: 100, verdict: .notEntitled),
            ]
        }

    @Test(arguments: rows)
    func `follows the decision table`(row: Row) {
        #expect(row.entitlement.verdict(on: products[row.product], of: products, at: at(row.day)) == row.verdict)
    }

    /// The account's entitlements in addition to single products: whether a plan runs, whether it has everything, whether there
    /// is a list.
    @Test(
        arguments: [
            (Entitlement(), 50, false, false, false), (everything, 9, false, false, false), (everything, 10, true, true, false),
            (everything, 99, true, true, false), (everything, 100, false, false, false), (issues, 29, false, false, true),
            (issues, 30, true, false, true), (issues, 90, false, false, true), (listed, 50, true, false, true),
            (cancelled(.listed), 50, false, false, false), (revoked(.issues), 50, false, false, false),
            (bought, 50, false, false, true), (holding(plan(.everything), from: 10, to: nil), 5000, true, true, false),
            (
                Entitlement(subscriptions: everything.subscriptions, purchases: bought.purchases), 50, true, true, false
            ),
            (
                Entitlement(subscriptions: everything.subscriptions, purchases: bought.purchases), 100, false, false, true
            ),
        ] as [(Entitlement, Int64, Bool, Bool, Bool)]
    )
    func `is told as a whole`(entitlement: Entitlement, day: Int64, isCurrent: Bool, hasAll: Bool, isListed: Bool) {
        #expect(entitlement.subscriptions.contains { $0.isCurrent(at: at(day)) } == isCurrent)
        #expect(entitlement.coversEverything(at: at(day)) == hasAll)
        #expect(entitlement.isByIssue(at: at(day)) == isListed)
    }

    @Test func `is explained in words`() {
        func reasons(_ entitlement: Entitlement, _ product: String, _ day: Int64) -> [String] {
            products[product].map { entitlement.findings(on: $0, of: products, at: at(day)).map(\.reason) } ?? []
        }
        #expect(reasons(Self.bought, "issue-1", 50) == ["the account has the product itself"])
        #expect(reasons(Self.bought, "issue-2", 49) == ["the account has the product itself"])
        #expect(reasons(Self.bought, "issue-2", 50) == ["it ended at \(at(50))"])
        #expect(
            reasons(Self.everything, "free", 100) == [
                "the product is free", "it granted everything until it ended at \(at(100))",
            ]
        )
        #expect(reasons(Self.issues, "issue-5", 90) == ["the issue came out after it ended at \(at(90))"])
        #expect(reasons(Self.issues, "issue-5", 89) == ["the issue comes out after its end at \(at(90))"])
    }
}
