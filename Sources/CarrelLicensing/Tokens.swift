package import CarrelBytes
import CarrelCrypto
package import CarrelHome
package import CarrelRights
package import CarrelStore
import CarrelThreads

/// Seals the tokens that portals ask for, and opens those that players redeem.
package final class Tokens: Sendable {
    private let database: any Database
    private let master: MasterKeyring.Shared
    /// Every node reads the secrets again once a minute.
    private let cache = SnapshotCache<Int, [SigningSecret]>(limit: 1, life: .seconds(60))

    /// The first secret is made at first use.
    package init(database: any Database, master: MasterKeyring.Shared, at now: Instant) async throws {
        self.database = database
        self.master = master
        try await SigningSecret.makeFirst(.token, master, in: database, at: now)
    }

    private func secrets(at now: Instant) async throws -> [SigningSecret] {
        let found = cache.find(0, at: now)
        if let secrets = found.value, found.isFresh { return secrets }
        let master = master
        let secrets = try await database.read { try SigningSecret.all(.token, master, in: $0) }
        cache.insert(secrets, for: 0, readAt: now, since: found)
        return secrets
    }

    /// Seals rules under the newest secret.
    ///
    /// - Throws: `rights.malformed` for rules that break a bound; the database's error.
    package func seal(_ rules: BusinessRules, at now: Instant) async throws -> SealedToken {
        let secrets = try await secrets(at: now)
        guard let signing = SigningSecret.signing(at: now, of: secrets) ?? secrets.first else {
            throw ServerError(.home, "the database has no secret for tokens")
        }
        return try SealedToken.seal(rules, under: SealedToken.Key(id: signing.id, secret: signing.secret))
    }

    /// Opens a token that can be redeemed for a license: of a stream, or of a license.
    ///
    /// - Throws: `rights.token`, `rights.expired`; the database's error.
    package func open(_ text: String, at now: Instant) async throws -> BusinessRules {
        let token = try SealedToken(text)
        let kind: BusinessRules.Kind = token.bytes[2] == BusinessRules.Kind.ms3.rawValue ? .ms3 : .license
        let keys = Dictionary(try await secrets(at: now).map { ($0.id, $0.secret) }) { first, _ in first }
        return try token.open(as: kind, keys: keys, at: now)
    }
}
