// SPDX-License-Identifier: Apache-2.0

/// The identity of a user at a provider. The issuer and the subject together are the identity; everything else may change,
/// and none of it says that two are the same (OpenID Connect Core 1.0 §5.7).
package struct OpenIDIdentity: Sendable, Equatable {
    package let issuer: String
    package let subject: String
    /// The groups that the provider says they are in.
    package let groups: [String]
}
