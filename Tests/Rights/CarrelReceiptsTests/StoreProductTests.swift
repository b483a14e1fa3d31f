// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelReceipts
import Testing

struct `What a store's product means` {
    private static let now = Instant(milliseconds: 1_800_000_000_000)
    private static let day = Duration.seconds(86_400)

    private static func transaction(
        _ product: String,
        _ kind: StoreTransaction.Kind = .autoRenewable,
        days: Int? = 30,
        revoked: Bool = false,
        upgraded: Bool = false
    ) -> StoreTransaction {
        StoreTransaction(
            environment: .production,
            bundleID: "b",
            productID: product,
            kind: kind,
            transactionID: "2",
            originalID: "1",
            purchasedAt: now,
            expiresAt: days.map { now + day * $0 },
            revokedAt: revoked ? now + day : nil,
            isUpgraded: upgraded,
            signedAt: now + day * 2
        )
    }

    private static let products = StoreProducts(
        plans: [
            .init(pattern: "sub.*", plan: "silver"), .init(pattern: "sub.gold.*", plan: "gold"),
            .init(pattern: "sub.gold.year", plan: "year", life: day * 365), .init(pattern: "for-good", plan: "life"),
        ],
        products: ["old-name": "issue-1"]
    )

    @Test(arguments: [
        ("sub.x", "silver"), ("sub.gold.x", "gold"), ("sub.gold.year", "year"), ("sub.", "silver"), ("sub.gold.years", "gold"),
    ])
    func `is the plan of the longest rule that fits`(product: String, plan: String) throws {
        #expect(try Self.products.grant(of: Self.transaction(product))?.thing == .plan(plan))
    }

    @Test(arguments: [("old-name", "issue-1"), ("issue-2", "issue-2"), ("sub", "sub"), ("for-goods", "for-goods")])
    func `is a product where no rule fits`(product: String, id: String) throws {
        #expect(try Self.products.grant(of: Self.transaction(product, .nonConsumable, days: nil))?.thing == .product(id))
    }

    @Test func `runs from the purchase until the store's end, or for as long as was set`() throws {
        let month = try #require(try Self.products.grant(of: Self.transaction("sub.gold.year")))
        #expect(month.startsAt == Self.now && month.endsAt == Self.now + Self.day * 30)
        let year = try #require(try Self.products.grant(of: Self.transaction("sub.gold.year", .nonRenewing, days: nil)))
        #expect(year.endsAt == Self.now + Self.day * 365)
        #expect(try Self.products.grant(of: Self.transaction("for-good", .nonConsumable, days: nil))?.endsAt == nil)
    }

    @Test func `is nothing once the money was given back`() throws {
        #expect(try Self.products.grant(of: Self.transaction("sub.x", revoked: true)) == nil)
        #expect(try Self.products.grant(of: Self.transaction("issue-1", .nonConsumable, days: nil, revoked: true)) == nil)
    }

    @Test func `ends when another subscription took its place`() throws {
        #expect(try Self.products.grant(of: Self.transaction("sub.x", upgraded: true))?.endsAt == Self.now + Self.day * 2)
        #expect(try Self.products.grant(of: Self.transaction("sub.x", days: 1, upgraded: true))?.endsAt == Self.now + Self.day)
    }

    @Test(arguments: [
        ("coins", StoreTransaction.Kind.consumable), ("season", .nonRenewing), ("coins", .other), ("sub.x", .nonRenewing),
        ("for-good", .consumable),
    ])
    func `is unknown if it is consumed, or its end is unknown`(product: String, kind: StoreTransaction.Kind) {
        let error = #expect(throws: ReceiptError.self) {
            try Self.products.grant(of: Self.transaction(product, kind, days: nil))
        }
        #expect(error?.code == .unmapped)
    }
}
