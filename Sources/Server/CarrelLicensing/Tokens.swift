// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
package import CarrelHome
package import CarrelRights
package import CarrelStore
import CarrelThreads
package import CarrelTokens

/// Seals the tokens that portals ask for, and opens those that players redeem.
package final class Tokens: Sendable {
    private let database: any Database
    private let master: MasterKeyring.Shared
    /// The keys of license messages.
    let communicationKeys: CommunicationKeys
    /// Every node reads the secrets again once a minute.
    private let cache = SnapshotCache<Int, [SigningSecret]>(limit: 1, life: .seconds(60))

    /// The first secret is made at first use.
    ///
    /// - Parameters:
    ///   - database: the database.
    ///   - master: the master key.
    ///   - relayKeys: the ids of keys that open relays: no message under them makes a grant.
    ///   - now: the time.
    /// - Throws: the database's error.
    package init(
        database: any Database,
        master: MasterKeyring.Shared,
        relayKeys: Set<KeyID> = [],
        at now: Instant
    ) async throws {
        self.database = database
        self.master = master
        try await SigningSecret.makeFirst(.token, master, in: database, at: now)
        communicationKeys = try await CommunicationKeys(
            database: database,
            master: master,
            relayKeys: relayKeys,
            at: now
        )
    }

    private func secrets(at now: Instant) async throws -> [SigningSecret] {
        let found = cache.find(0, at: now)
        if let secrets = found.value, found.isFresh { return secrets }
        let master = master
        let secrets = try await database.read { try SigningSecret.all(.token, master, in: $0) }
        cache.insert(secrets, for: 0, readAt: now, since: found)
        return secrets
    }

    /// From the making of a secret to the first token that it seals: every node knows it by then.
    private static let notice = Duration.seconds(120)
    /// The longest life of a token, and the minute for which another node seals with the secret before.
    private static let longestLife = Duration.seconds(TokenRequest.maxLifetime) + .seconds(60)

    /// Replaces the secret that seals tokens, and the secret that signs the service's own license messages.
    ///
    /// - Parameters:
    ///   - atOnce: whether to delete every other secret, which ends all tokens and messages: in this process immediately, in
    ///     others on the same database within a minute. Otherwise they are valid until their end.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    /// - Returns: the new secret of tokens.
    /// - Throws: ``ServerError`` `request.conflict` if every id belongs to a secret that may still be needed.
    package func rotate(atOnce: Bool, by actor: AuditActor, at now: Instant) async throws -> SigningSecret.Rotation {
        let from = atOnce ? now : now + Self.notice
        let master = master
        let token = try master.current.wrap(SigningSecret.makeStored(signsFrom: from))
        let message = try master.current.wrap(SigningSecret.makeStored(signsFrom: from))
        let entry = actor.entry("token-key.rotate", on: "", at: now, reason: atOnce ? "at-once" : "")
        let made = try await database.write { transaction -> SigningSecret.Rotation in
            func replace(_ purpose: SecretStore.Signing, _ wrapped: MasterKeyring.Wrapped) throws -> SigningSecret.Rotation {
                let known = try SigningSecret.all(purpose, master, in: transaction)
                return try SigningSecret.replace(
                    with: wrapped,
                    signsFrom: from,
                    purpose,
                    known: known,
                    dead: atOnce ? known : SigningSecret.dead(known, after: Self.longestLife, at: now),
                    full: "255 secrets of tokens are in use, and tokens may last ten years: end all tokens with --at-once",
                    in: transaction
                )
            }
            try AuditStore.append(entry, in: transaction)
            _ = try replace(.message, message)
            return try replace(.token, token)
        }
        cache.invalidateAll()
        communicationKeys.forgetOwn()
        return made
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

    /// Opens a token that can be redeemed for a license: sealed, of a stream or of a license, or a license message.
    ///
    /// - Parameters:
    ///   - text: base 64 for URLs, or a JSON Web Token, which has two dots.
    ///   - address: the client's, for messages that name addresses.
    ///   - now: the time.
    /// - Returns: the grant.
    /// - Throws: `rights.token`, `rights.malformed`, `rights.signature`, `rights.expired`; ``HTTPError`` for restrictions; the
    ///   database's error.
    func grant(of text: String, from address: IPAddress?, at now: Instant) async throws -> Grant {
        guard text.utf8.contains(UInt8(ascii: ".")) else {
            let token = try SealedToken(text)
            let kind: BusinessRules.Kind = token.bytes[2] == BusinessRules.Kind.ms3.rawValue ? .ms3 : .license
            return Grant(try await open(token, as: kind, at: now))
        }
        let (message, signer) = try await message(text, at: now)
        return try Grant(message, text: text, signer: signer, from: address, at: now)
    }

    /// Verifies a license message under the communication key that it names.
    ///
    /// - Parameters:
    ///   - text: a JSON Web Token.
    ///   - now: the time.
    /// - Returns: the message, and the system that signed it.
    /// - Throws: `rights.malformed`, `rights.token`, `rights.signature`, `rights.expired`; the database's error.
    package func message(_ text: String, at now: Instant) async throws -> (
        message: LicenseMessage, signer: CommunicationKeys.Signer
    ) {
        let message = try LicenseMessage.Unverified(text)
        guard let (key, signer) = try await communicationKeys.find(message.keyID, at: now) else {
            throw RightsError(.token, "the license message is for another service: its communication key is not known")
        }
        return (try message.verified(by: key, at: now), signer)
    }

    /// Opens a token of registration or deregistration.
    ///
    /// - Parameters:
    ///   - text: base 64 for URLs.
    ///   - kind: `register` or `deregister`.
    ///   - now: the time.
    /// - Returns: its rules.
    /// - Throws: `rights.token`, `rights.expired`; the database's error.
    func registration(of text: String, as kind: BusinessRules.Kind, at now: Instant) async throws -> BusinessRules {
        try await open(try SealedToken(text), as: kind, at: now)
    }

    private func open(_ token: SealedToken, as kind: BusinessRules.Kind, at now: Instant) async throws -> BusinessRules {
        let keys = Dictionary(try await secrets(at: now).map { ($0.id, $0.secret) }) { first, _ in first }
        return try token.open(as: kind, keys: keys, at: now)
    }
}
