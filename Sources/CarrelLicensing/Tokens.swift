package import CarrelBytes
import CarrelCrypto
package import CarrelHome
package import CarrelRights
package import CarrelStore

/// Seals the tokens that portals ask for, and opens those that players redeem.
package struct Tokens: Sendable {
    private let keys: [UInt8: Secret]
    private let newest: SealedToken.Key

    /// Reads the secrets of tokens; the first is made at first use.
    package init(database: any Database, master: MasterKeyring.Shared, at now: Instant) async throws {
        try await SigningSecret.makeFirst(.token, master, in: database, at: now)
        let secrets = try await database.read { try SigningSecret.all(.token, master, in: $0) }
        guard let signing = SigningSecret.signing(at: now, of: secrets) ?? secrets.first else {
            throw ServerError(.home, "the database has no secret for tokens")
        }
        keys = Dictionary(secrets.map { ($0.id, $0.secret) }) { first, _ in first }
        newest = SealedToken.Key(id: signing.id, secret: signing.secret)
    }

    /// - Throws: `rights.malformed` for rules that break a bound.
    package func seal(_ rules: BusinessRules) throws(RightsError) -> SealedToken { try SealedToken.seal(rules, under: newest) }

    /// Opens a token that can be redeemed for a license: of a stream, or of a license.
    ///
    /// - Throws: `rights.token`, `rights.expired`.
    package func open(_ text: String, at now: Instant) throws(RightsError) -> BusinessRules {
        let token = try SealedToken(text)
        let kind: BusinessRules.Kind = token.bytes[2] == BusinessRules.Kind.ms3.rawValue ? .ms3 : .license
        return try token.open(as: kind, keys: keys, at: now)
    }
}
