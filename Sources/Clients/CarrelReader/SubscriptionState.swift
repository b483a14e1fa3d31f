// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelSubscription

/// A provider's last answer about an account.
public struct SubscriptionState: Sendable, Equatable {
    /// The provider's answer to "Verify Subscription".
    public let answer: SubscriptionAnswer
    /// When it said so.
    public let verifiedAt: Instant

    /// Creates a state.
    ///
    /// - Parameters:
    ///   - answer: the provider's answer.
    ///   - verifiedAt: the time of the answer.
    public init(_ answer: SubscriptionAnswer, verifiedAt: Instant) {
        self.answer = answer
        self.verifiedAt = verifiedAt
    }

    /// Whether the account may read a product: one that is listed where products are, whatever the state; any, otherwise, while it
    /// is active. The provider has the last word when credentials are asked for.
    ///
    /// - Parameter product: the id of the product.
    /// - Returns: true if the last answer allows the product.
    public func allows(_ product: String) -> Bool {
        answer.issues?.contains(product) ?? (answer.state == .active)
    }
}
