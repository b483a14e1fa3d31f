// SPDX-License-Identifier: Apache-2.0

/// The credentials that an order's URLs require.
package enum AccessMode: String, Sendable, CaseIterable {
    /// The order id is the capability, as existing apps expect.
    case orderURL = "order-url"
    /// The account's session (bearer token or cookie) is needed too.
    case session
}
