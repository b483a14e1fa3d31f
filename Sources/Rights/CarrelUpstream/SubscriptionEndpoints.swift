// SPDX-License-Identifier: Apache-2.0

/// The addresses of a system with the five calls, and the form of its requests.
///
/// A call's address may be a template: `https://example.org/login?user={username}&pw={password}` sends these parameters by these
/// names and no others. An address without placeholders is sent what the call takes, by the names in ``names``.
public struct SubscriptionEndpoints: Sendable, Equatable {
    /// A parameter of a call.
    public enum Parameter: String, Sendable, CaseIterable {
        /// The name that the user signs in with.
        case username
        /// The user's password.
        case password
        /// The token that a sign-in returned.
        case token
        /// The id of the product.
        case product = "product_id"
        /// An identifier of the app's installation.
        case device = "uuid"
    }

    /// The address of "Sign In", or a template of it.
    public var signIn: String
    /// The address of "Verify Subscription", or a template of it.
    public var verify: String
    /// The address of "Edition credentials", or a template of it.
    public var credentials: String
    /// The renewal URL; nil if tokens cannot be renewed.
    public var renew: String?
    /// The sign-out URL; nil if signing out is not reported.
    public var signOut: String?
    /// The names of parameters, for URLs that are not templates.
    public var names: [Parameter: String] = [:]
    /// Whether parameters are sent as a form by POST, rather than in the query by GET. A template's query is then part of the
    /// form, too.
    public var usesForm = true

    /// Creates endpoints from addresses or templates.
    ///
    /// - Parameters:
    ///   - signIn: the URL for "Sign In".
    ///   - verify: the URL for "Verify Subscription".
    ///   - credentials: the URL for "Edition credentials".
    ///   - renew: the URL for "Renew Token"; nil if tokens cannot be renewed.
    ///   - signOut: the URL for "Sign Out"; nil if the provider has none.
    public init(signIn: String, verify: String, credentials: String, renew: String? = nil, signOut: String? = nil) {
        self.signIn = signIn
        self.verify = verify
        self.credentials = credentials
        self.renew = renew
        self.signOut = signOut
    }

    /// The usual names below one address, with a slash at the end.
    ///
    /// - Parameter base: the address that the names are appended to.
    public init(base: String) {
        let base = base.hasSuffix("/") ? base : base + "/"
        self.init(
            signIn: base + "sign_in/",
            verify: base + "verify_subscription/",
            credentials: base + "edition_credentials/",
            renew: base + "renew_token/",
            signOut: base + "sign_out/"
        )
    }

    var addresses: [String] { [signIn, verify, credentials, renew, signOut].compactMap(\.self) }

    /// Whether every call stays on this machine.
    package var isOnThisMachine: Bool { addresses.allSatisfy(UpstreamAddress.isOnThisMachine) }
}
