// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelJSON

/// A purchase or renewal, as signed by the store (App Store Server API, `JWSTransactionDecodedPayload`). Only
/// ``TransactionVerifier`` creates one from untrusted input.
package struct StoreTransaction: Sendable, Equatable {
    /// The kind of the product. A kind that this version does not know is `other`.
    package enum Kind: String, Sendable, CaseIterable {
        case autoRenewable = "Auto-Renewable Subscription"
        case nonRenewing = "Non-Renewing Subscription"
        case nonConsumable = "Non-Consumable"
        case consumable = "Consumable"
        case other = ""
    }

    package let environment: StoreEnvironment
    /// The app that it was bought in.
    package let bundleID: String
    /// The store's id of the product.
    package let productID: String
    package let kind: Kind
    /// This purchase or renewal.
    package let transactionID: String
    /// The purchase that it renews or restores: the same for as long as a subscription lives.
    package let originalID: String
    package let purchasedAt: Instant
    /// The expiry; nil if it does not expire.
    package let expiresAt: Instant?
    /// When the store refunded it, or family sharing ended.
    package let revokedAt: Instant?
    /// Whether another subscription took its place before its end.
    package let isUpgraded: Bool
    /// When the store signed it. Later signatures take precedence.
    package let signedAt: Instant

    /// - Parameters:
    ///   - environment: the store environment of the purchase.
    ///   - bundleID: the app.
    ///   - productID: the product.
    ///   - kind: the product's kind.
    ///   - transactionID: the ID of this purchase or renewal.
    ///   - originalID: the ID of the first purchase in the series.
    ///   - purchasedAt: the time of purchase.
    ///   - expiresAt: the expiry, if it has one.
    ///   - revokedAt: the time of revocation, if revoked.
    ///   - isUpgraded: whether an upgrade replaced it.
    ///   - signedAt: when the store signed it.
    package init(
        environment: StoreEnvironment,
        bundleID: String,
        productID: String,
        kind: Kind,
        transactionID: String,
        originalID: String,
        purchasedAt: Instant,
        expiresAt: Instant? = nil,
        revokedAt: Instant? = nil,
        isUpgraded: Bool = false,
        signedAt: Instant
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.productID = productID
        self.kind = kind
        self.transactionID = transactionID
        self.originalID = originalID
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.isUpgraded = isUpgraded
        self.signedAt = signedAt
    }

    /// Reads a payload with a verified signature.
    ///
    /// - Throws: `receipt.malformed` for a value that no store issues, `receipt.environment` for an unknown environment.
    init(_ object: JSONObject) throws(ReceiptError) {
        let word = try SignedMembers.text("environment", of: object)
        guard let environment = StoreEnvironment(rawValue: word) else {
            throw ReceiptError(.environment, "it is of an environment that no store has")
        }
        self.environment = environment
        bundleID = try SignedMembers.text("bundleId", of: object)
        productID = try SignedMembers.text("productId", of: object)
        kind = object["type"]?.string.flatMap(Kind.init) ?? .other
        transactionID = try SignedMembers.text("transactionId", of: object)
        originalID = try SignedMembers.text("originalTransactionId", of: object)
        purchasedAt = try SignedMembers.instant("purchaseDate", of: object)
        expiresAt = try SignedMembers.instantIfPresent("expiresDate", of: object)
        revokedAt = try SignedMembers.instantIfPresent("revocationDate", of: object)
        switch object["isUpgraded"] {
        case nil: isUpgraded = false
        case .bool(let value)?: isUpgraded = value
        default: throw ReceiptError(.malformed, "isUpgraded is not a Boolean")
        }
        signedAt = try SignedMembers.instant("signedDate", of: object)
        guard kind != .autoRenewable || expiresAt != nil else {
            throw ReceiptError(.malformed, "a subscription has no end")
        }
    }
}
