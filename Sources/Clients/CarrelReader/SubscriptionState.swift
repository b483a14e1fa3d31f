// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelSubscription

/// A provider's last response about an account.
public struct SubscriptionState: Sendable, Equatable {
    /// The provider's response to "Verify Subscription".
    public let answer: SubscriptionAnswer
    /// The time of the provider's response.
    public let verifiedAt: Instant

    /// Creates a state.
    ///
    /// - Parameters:
    ///   - answer: the provider's response.
    ///   - verifiedAt: the time of the response.
    public init(_ answer: SubscriptionAnswer, verifiedAt: Instant) {
        self.answer = answer
        self.verifiedAt = verifiedAt
    }

    /// Whether the account may read a product. If the provider lists products, only a listed one, whatever the state; otherwise
    /// any product while the account is active. The provider decides when credentials are requested.
    ///
    /// - Parameter product: the id of the product.
    /// - Returns: true if the last answer allows the product.
    public func allows(_ product: String) -> Bool {
        answer.issues?.contains(product) ?? (answer.state == .active)
    }
}
