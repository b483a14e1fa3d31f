// SPDX-License-Identifier: Apache-2.0

package import CarrelReceipts

/// Settings of app-store purchases.
package struct ReceiptSettings: Sendable {
    /// Nil if no store is configured: nothing that a store signs counts then.
    package var verifier: TransactionVerifier?
    package var products = StoreProducts()

    package init() {}
}
