package import CarrelAccounts
package import CarrelUpstream

/// What the operator decides about signing in at an OpenID provider.
package struct SignOnSettings: Sendable {
    /// Nil where there is none.
    package var provider: OpenIDConfiguration?
    /// A PEM file of the authorities to trust for the provider instead of the system's.
    package var certificateAuthorities: String?
    /// Which plan being in a group gives.
    package var plans: [String: String] = [:]
    /// Which role being in a group gives, `admin` or `support`; owners are made by owners alone.
    package var roles: [String: Role] = [:]
    /// How long such a plan runs after a sign-in, because nobody tells us when somebody leaves a group.
    package var planLife = Duration.seconds(30 * 24 * 3600)
    /// Whether somebody who comes for the first time gets an account; else only those are let in whom the operator linked.
    package var createsAccounts = true
    /// What the button on the sign-in page says.
    package var label = "Sign in with your organisation"
    /// Where browsers reach this server, such as `https://books.example.org`; nil for what they called.
    package var publicURL: String?

    package init() {}
}
