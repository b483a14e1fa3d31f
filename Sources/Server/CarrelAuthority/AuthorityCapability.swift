// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelJSON
import CarrelRights
package import CarrelStore
import CarrelThreads
import CarrelThrottling
package import CarrelWebAPI

/// The certificate authority, and the players that it certifies.
package struct AuthorityCapability: Capability {
    package let authority: Authority
    package let personalizations: Personalizations
    package let players: Players
    package let links: LinkCodes
    private let accounts: AccountsCapability
    private let expunging: Expunging
    private let clock: any WallClock
    private let limiter: TokenBucketLimiter
    private let challengeLimiter: TokenBucketLimiter
    private let listLimiter: TokenBucketLimiter

    /// The limit of personalizations and codes per network and minute.
    private static let networkLimit = 60
    /// The limit of challenges per network and minute, equal to the limits of license requests and of revocation lists. Neither
    /// writes.
    private static let challengeLimit = 1200

    /// The time for which a player without a certificate can come back as the same one.
    private static let memory = Duration.seconds(30 * 86_400)

    package init(
        _ context: ServiceContext,
        _ settings: Personalizations.Settings,
        _ accounts: AccountsCapability,
        devicePolicy: @escaping @Sendable (_ account: String, Instant, any Transaction) throws -> DevicePolicy
    ) async throws {
        authority = try await Authority(
            database: context.database,
            master: context.master,
            clock: context.clock,
            environment: context.home.environment
        )
        personalizations = Personalizations(
            authority: authority,
            database: context.database,
            clock: context.clock,
            settings: settings,
            challenges: Challenges(secret: try context.secret(.challenge)),
            devicePolicy: devicePolicy
        )
        links = LinkCodes(
            authority: authority,
            personalizations: personalizations,
            database: context.database,
            clock: context.clock
        )
        players = Players(database: context.database, clock: context.clock)
        self.accounts = accounts
        expunging = context.expunging
        clock = context.clock
        limiter = TokenBucketLimiter(perMinute: Self.networkLimit)
        challengeLimiter = TokenBucketLimiter(perMinute: Self.challengeLimit)
        listLimiter = TokenBucketLimiter(perMinute: Self.challengeLimit)
        accounts.lifecycle.join(players)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "pki_keys": .nothing("keys of the service"),
        "pki_documents": .nothing("public keys of the service"),
        "players": .kept(
            exportedAs: "players",
            because: "a revoked device stays revoked; the link to the account and the device's name are deleted"
        ),
        "player_certificates": .nothing("certificates with random ids; deleted when they have expired"),
        "player_nonces": .nothing("random numbers; deleted when they have ended"),
        "guests": .nothing("random ids of players without an account, with the larger network of each; deleted with the player"),
        "link_codes": .nothing("random codes with the network that asked for them; deleted after minutes"),
        "revoked_rights": .nothing("random ids of players, licenses and keys, and digests of the keys of revoked players"),
        "rights_numbers": .nothing("numbers"),
    ]
    package static let statements =
        AuthorityStore.statements + PlayerStore.statements + GuestStore.statements + LinkCodeStore.statements
        + CarriedPlayers.statements
    package static let carriedTables = CarriedPlayers.tables

    package func addRoutes(to router: inout Router) {
        AuthorityRoutes(
            authority: authority,
            expunging: expunging,
            personalizations: personalizations,
            players: players,
            accounts: accounts.accounts,
            callers: accounts.callers,
            clock: clock,
            limiter: limiter,
            challengeLimiter: challengeLimiter,
            listLimiter: listLimiter
        ).add(to: &router)
        LinkCodeRoutes(links: links, limiter: limiter, clock: clock).add(to: &router)
    }

    package var cleanups: [Cleanup] {
        [
            Cleanup { try LinkCodeStore.removeExpired(at: $0 - LinkCodes.memory, limit: $1, in: $2) },
            Cleanup { try PlayerStore.removeNonces(at: $0, limit: $1, in: $2) },
            Cleanup { [players] in try players.removeExpired(before: $0 - Self.memory, at: $0, limit: $1, in: $2) },
            Cleanup { try PlayerStore.removeCertificates(before: $0, limit: $1, in: $2) },
            Cleanup { try PlayerStore.removeRights(before: $0 - Self.memory, limit: $1, in: $2) },
        ]
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("players", holdsSubjects: true) { person, transaction in
                try PlayerStore.players(of: person.account, in: transaction).map(AuthorityRoutes.json)
            }
        ]
    }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        let count = try? await CarrelThreads.within(limit) { [authority] in try await authority.revokedCount() }
        return [
            "revocations": ["entries": count.map { .integer($0) } ?? .null, "limit": .integer(Revocations.maxEntries)]
        ]
    }

    package func warnings(at now: Instant, within limit: Duration) async -> [String] {
        let ends = (try? await CarrelThreads.within(limit) { [authority] in try await authority.endWarnings(at: now) }) ?? []
        guard let count = try? await CarrelThreads.within(limit, { [authority] in try await authority.revokedCount() }),
            count >= Revocations.maxEntries / 5 * 4
        else { return ends }
        let fullness =
            "the list of revocations has \(count) of \(Revocations.maxEntries) entries: beyond that the oldest that staff did not make are left out"
        return ends + [fullness]
    }

    package var wrappedKeys: [WrappedKeys] {
        [WrappedKeys(notUnder: AuthorityStore.notUnder, rewrap: AuthorityStore.rewrap)]
    }
}
