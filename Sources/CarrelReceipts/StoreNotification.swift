/// What a store tells of its own accord (App Store Server Notifications 2.0, `responseBodyV2DecodedPayload`).
package struct StoreNotification: Sendable, Equatable {
    /// What happened, such as `DID_RENEW` or `REFUND`.
    package let type: String
    /// The transaction that it is about, as it is now; nil for those that are about none.
    package let transaction: StoreTransaction?
}
