// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// The agreement with an OpenID provider.
package struct OpenIDConfiguration: Sendable {
    /// The provider's name for itself, an address, compared letter by letter.
    package let issuer: String
    /// Its name for us.
    package let clientID: String
    /// The client secret; nil for a public client, which has only PKCE.
    package let clientSecret: Secret?
    /// The scopes to request; `openid` in any case.
    package let scopes: [String]
    /// The claim that lists the user's groups.
    package let groupsClaim: String

    /// - Parameters:
    ///   - issuer: https, or http on this machine; without a query.
    ///   - clientID: the registered client ID.
    ///   - clientSecret: UTF-8 text; nil for a public client.
    ///   - scopes: additional to `openid`.
    ///   - groupsClaim: the name of the groups claim.
    /// - Throws: `upstream.address` if the issuer URL cannot be used.
    package init(
        issuer: String,
        clientID: String,
        clientSecret: Secret? = nil,
        scopes: [String] = [],
        groupsClaim: String = "groups"
    ) throws(UpstreamError) {
        try UpstreamAddress.check(issuer)
        guard !issuer.contains("?") else { throw UpstreamError(.address, "an issuer has no query") }
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = ["openid"] + scopes.filter { $0 != "openid" }
        self.groupsClaim = groupsClaim
    }
}
