// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
import CarrelCrypto
package import CarrelHTTP
import CarrelHTTPClient
package import CarrelHome
import CarrelUpstream
import CarrelMetrics
package import CarrelStore
package import CarrelWebAPI

/// Signing in at an OpenID provider.
package struct SignOnCapability: Capability {
    private let identities: Identities
    private let signOn: SignOn?
    private let accounts: AccountsCapability
    private let activity: Activity
    private let onFailure: (@Sendable (any Error, HTTPRequest) -> Void)?

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - accounts: the accounts.
    ///   - settings: the provider, if any.
    ///   - audit: records refusals.
    ///   - onFailure: receives the reason for a failed sign-in, which the client does not learn.
    /// - Throws: ``ServerError`` `masterKey` if a secret is missing.
    package init(
        _ context: ServiceContext,
        _ accounts: AccountsCapability,
        _ settings: SignOnSettings,
        audit: AuditFold,
        onFailure: (@Sendable (any Error, HTTPRequest) -> Void)?
    ) throws {
        self.accounts = accounts
        self.onFailure = onFailure
        activity = context.activity
        identities = Identities(database: context.database, clock: context.clock)
        if let provider = settings.provider {
            let client = HTTPClient(
                configuration: HTTPClientConfiguration(certificateAuthorities: settings.certificateAuthorities)
            )
            signOn = SignOn(
                client: OpenIDClient(provider, client: client, clock: context.clock),
                settings: settings,
                database: context.database,
                lifecycle: accounts.lifecycle,
                clock: context.clock,
                sessions: accounts.accounts.sessions,
                audit: audit,
                key: HMACSHA256(key: try context.secret(.signOn))
            )
        } else {
            signOn = nil
        }
        accounts.lifecycle.join(identities)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "identities": .deleted(exportedAs: "identities"),
        "used_sign_ons": .nothing("hashes of random numbers; deleted within an hour"),
    ]
    package static let statements = SignOnStore.statements

    package func addRoutes(to router: inout Router) {
        IdentityRoutes(identities: identities, desk: accounts.desk, callers: accounts.callers).add(to: &router)
        if let signOn {
            SignOnRoutes(signOn: signOn, callers: accounts.callers, activity: activity, onFailure: onFailure).add(to: &router)
        }
    }

    package var cleanups: [Cleanup] { [Cleanup { try SignOnStore.removeUsed(at: $0, limit: $1, in: $2) }] }

    package var personalData: [PersonalData.Member] {
        [PersonalData.Member("identities") { try SignOnStore.identities(of: $0.account, in: $1).map(IdentityRoutes.json) }]
    }
}
