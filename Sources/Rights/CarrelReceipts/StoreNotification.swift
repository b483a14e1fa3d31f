// SPDX-License-Identifier: Apache-2.0

/// A notification that a store sends by itself (App Store Server Notifications 2.0, `responseBodyV2DecodedPayload`).
package struct StoreNotification: Sendable, Equatable {
    /// The event, such as `DID_RENEW` or `REFUND`.
    package let type: String
    /// The current state of the transaction concerned; nil if the notification concerns none.
    package let transaction: StoreTransaction?
}
