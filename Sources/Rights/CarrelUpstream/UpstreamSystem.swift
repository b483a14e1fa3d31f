// SPDX-License-Identifier: Apache-2.0

package import CarrelSubscription

/// An upstream system that decides about access, by any protocol.
package protocol UpstreamSystem: Sendable {
    /// Signs in. A refusal is a response, not an error.
    func signIn(name: String, password: String, device: String?) async throws(UpstreamError) -> SignInAnswer

    /// Returns the successor of a token; throws `upstream.unsupported` if tokens cannot be renewed.
    func renew(_ token: String) async throws(UpstreamError) -> SignInAnswer

    /// The entitlements of the token's account.
    func verify(_ token: String) async throws(UpstreamError) -> SubscriptionAnswer

    /// Whether the token's account may read a product.
    func permission(for product: String, token: String) async throws(UpstreamError) -> Permission

    /// Ends a token.
    func signOut(_ token: String) async throws(UpstreamError)
}

/// A system's decision on one product.
package enum Permission: Sendable, Equatable {
    case granted
    /// - status: a machine-readable reason, such as `notentitled`; optional.
    case refused(status: String?, message: String?)
}

extension SubscriptionCalls: UpstreamSystem {
    package func permission(for product: String, token: String) async throws(UpstreamError) -> Permission {
        switch try await credentials(for: product, token: token) {
        case .granted: .granted
        case .refused(let status, let message): .refused(status: status, message: message)
        }
    }
}
