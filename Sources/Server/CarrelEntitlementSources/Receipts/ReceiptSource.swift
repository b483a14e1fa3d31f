// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelAudit
import CarrelBytes
import CarrelCatalog
package import CarrelEntitlements
import CarrelJOSE
import CarrelReceipts
import CarrelStore
package import CarrelSubscription

/// A source that accepts app-store transactions as tokens of the five calls, for readers without an account.
///
/// The token is one signed transaction, or several separated by commas or spaces. There is no sign-in and no renewal.
package struct ReceiptSource: EntitlementSource {
    package let name = "receipts"
    package let receipts: Receipts
    let products: ProductCatalogCache

    /// The most transactions in one token.
    static let maxCount = 20

    /// The signed texts in a token or a body; empty if there is something else in it.
    package static func texts(in text: String) -> [String] {
        let texts = text.split(whereSeparator: { $0 == "," || $0.isWhitespace }).map(String.init)
        guard texts.count <= maxCount, texts.allSatisfy(isSigned) else { return [] }
        return texts
    }

    /// Whether the text is a signed object with its certificates: tokens of upstream systems may be signed objects too.
    private static func isSigned(_ text: String) -> Bool {
        guard text.hasPrefix("ey"), let object = try? JWS.Unverified(text) else { return false }
        return !object.header.certificates.isEmpty
    }

    /// False: guessing would mean forging a signature.
    package let countsAttempts = false

    package func owns(_ token: String) async throws -> Bool { !Self.texts(in: token).isEmpty }

    package func signIn(_ request: SignInRequest) async throws -> SignInOutcome { .notRecognised }

    package func renew(_ token: String, for caller: AuditActor) async throws -> SignInOutcome? { nil }

    package func signOut(_ token: String, for caller: AuditActor) async throws -> Bool { try await owns(token) }

    package func status(of token: String) async throws -> SubscriptionStatus? {
        let texts = Self.texts(in: token)
        guard !texts.isEmpty else { return nil }
        guard let holdings = try await holdings(try await receipts.check(texts)) else {
            return SubscriptionStatus(.inactive, message: "This purchase is not accepted here")
        }
        let open = holdings.filter { !$0.isSuspended }
        let together = Entitlement(
            isSuspended: open.isEmpty,
            subscriptions: open.flatMap(\.subscriptions),
            purchases: open.flatMap(\.purchases)
        )
        return try await SubscriptionStatus(of: together, products, at: receipts.clock.now)
    }

    package func decision(on productID: String, token: String) async throws -> SourceDecision? {
        let texts = Self.texts(in: token)
        guard !texts.isEmpty else { return nil }
        guard let holdings = try await holdings(try await receipts.check(texts)) else { return .notRecognised }
        return try await decision(on: productID, holdings)
    }

    /// The combined transactions of one account, or of one purchase without an account.
    package struct EntitlementSnapshot: Sendable {
        /// Tag of issued credentials, so that they end with the purchase.
        let tag: String
        let isSuspended: Bool
        fileprivate(set) var subscriptions: [Subscription] = []
        /// The products bought individually.
        package fileprivate(set) var purchases: [Purchase] = []

        fileprivate var entitlement: Entitlement {
            Entitlement(isSuspended: isSuspended, subscriptions: subscriptions, purchases: purchases)
        }
    }

    /// The decision of the first transaction that grants the product, each by itself; if none does, the reason of the closest
    /// one.
    package func decision(on productID: String, _ holdings: [EntitlementSnapshot]) async throws -> SourceDecision {
        let (products, now) = (try await products.current(), receipts.clock.now)
        func rank(_ one: EntitlementSnapshot) -> Int {
            switch one.entitlement.verdict(on: products[productID], of: products, at: now) {
            case .granted: 0
            case .suspended: 1
            case .expired: 2
            case .notEntitled: 3
            }
        }
        guard let best = holdings.min(by: { rank($0) < rank($1) }) else { return .notRecognised }
        return SourceDecision(
            of: best.entitlement,
            on: productID,
            products,
            tag: best.tag,
            at: now,
            source: "receipt: "
        )
    }

    /// The combined valid transactions; nil if none is valid, or none grants anything here.
    package func holdings(_ checked: [Receipts.Checked]) async throws -> [EntitlementSnapshot]? {
        let said = checked.compactMap { try? $0.get() }
        let store = receipts.settings.products
        guard !said.isEmpty else { return nil }
        return try await receipts.database.readBriefly { transaction in
            var (found, isKnown): ([EntitlementSnapshot], Bool) = ([], false)
            for one in said {
                // A refund that the store reported after it signed this.
                let known = try ReceiptStore.known(one, in: transaction)
                let last = known.flatMap { $0.signedAt > one.signedAt ? $0 : nil } ?? one
                let owner = try ReceiptStore.owner(of: one, in: transaction)
                let tag = owner?.id ?? Receipts.tag(of: one)
                let index = found.firstIndex { $0.tag == tag } ?? found.endIndex
                if index == found.endIndex {
                    found.append(EntitlementSnapshot(tag: tag, isSuspended: owner?.isSuspended ?? false))
                }
                guard let grant = try? store.grant(of: last) else {
                    isKnown = isKnown || last.revokedAt != nil
                    continue
                }
                isKnown = true
                let id = ReceiptStore.id(of: one)
                switch grant.thing {
                case .plan(let name):
                    guard let plan = try SubscriptionStore.plan(named: name, in: transaction) else { continue }
                    found[index].subscriptions.append(
                        Subscription(id: id, plan: plan, startsAt: grant.startsAt, endsAt: grant.endsAt)
                    )
                case .product(let product):
                    found[index].purchases.append(Purchase(id: id, productID: product, endsAt: grant.endsAt))
                }
            }
            return isKnown ? found : nil
        }
    }
}
