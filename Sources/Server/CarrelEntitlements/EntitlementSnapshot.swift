// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelBytes
package import CarrelStore
import CarrelSubscription

/// A session and its account's entitlements, from one snapshot of the database.
package final class EntitlementSnapshot: Sendable {
    let session: Session
    let entitlement: Entitlement
    /// The number of the last revocation.
    let serial: UInt32

    /// Reads the session of a token with its account's entitlements; nil without such a session.
    package init?(of token: OpaqueToken, in transaction: any Transaction) throws {
        guard let session = try SessionStore.session(token.hash, in: transaction) else { return nil }
        self.session = session
        entitlement = try SubscriptionStore.entitlement(of: session.account, in: transaction)
        serial = try RevocationStore.serial(in: transaction)
    }

    /// The weight of a cached entry: its plans, purchases and products.
    var weight: Int {
        entitlement.subscriptions.reduce(entitlement.purchases.count) { $0 + 1 + $1.plan.products.count }
    }
}
