// SPDX-License-Identifier: Apache-2.0

/// The identity of a user at a provider. The issuer and the subject together are the identity; everything else may change, and
/// does not identify a user (OpenID Connect Core 1.0 §5.7).
package struct OpenIDIdentity: Sendable, Equatable {
    package let issuer: String
    package let subject: String
    /// The user's groups, as listed by the provider.
    package let groups: [String]
}
