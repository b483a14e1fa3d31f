// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelUpstream

/// Settings of single sign-on at an OpenID provider.
package struct SignOnSettings: Sendable {
    /// Nil if there is none.
    package var provider: OpenIDConfiguration?
    /// A PEM file of the authorities to trust for the provider instead of the system's.
    package var certificateAuthorities: String?
    /// The plans granted by groups.
    package var plans: [String: String] = [:]
    /// The roles granted by groups, `admin` or `support`; only owners appoint owners.
    package var roles: [String: Role] = [:]
    /// Lifetime of such a plan after a sign-in, because the provider does not report when a user leaves a group.
    package var planLife = Duration.seconds(30 * 24 * 3600)
    /// Whether a first sign-in creates an account; if false, only identities linked by the operator get in.
    package var createsAccounts = true
    /// Label of the button on the sign-in page.
    package var label = "Sign in with your organisation"
    /// Public base URL, such as `https://books.example.org`; nil: the request's host.
    package var publicURL: String?

    package init() {}
}
