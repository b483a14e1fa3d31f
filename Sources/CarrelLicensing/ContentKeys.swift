import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHome
import CarrelRights
import CarrelStore
import CarrelTokens

/// The key store: keys of content for which tokens bring none. A license has a copy of its keys.
struct ContentKeys: Sendable {
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared

    /// A key as lists have it.
    struct Listed: Sendable {
        let id: KeyID
        let addedAt: Instant
        /// The id of the back-office key that may name it; nil for every portal.
        let owner: String?
    }

    /// Live licenses that a refusal counts at most.
    private static let countLimit = 1000

    /// Adds a key; an existing one stays, with its owner.
    ///
    /// - Parameters:
    ///   - id: of the key.
    ///   - key: 16 bytes.
    ///   - owner: the back-office key that may name it; nil for every portal. A key of a title of the catalog has no owner.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.conflict` where another key has that id, or the id was revoked; `request.forbidden` for the key of
    ///   a title with an owner; `request.not-found` for an unknown owner.
    func add(_ id: KeyID, _ key: Secret, owner: String?, by actor: AuditActor) async throws {
        let now = clock.now
        if let owner { try await requirePortal(owner, id) }
        let wrapped = try master.current.wrap(key)
        let master = master
        try await database.write { transaction in
            guard try !PlayerStore.isRevoked(right: "kid", id.hex, in: transaction) else {
                throw ServerError(
                    .conflict,
                    "the id of the key was revoked: give the content a key with another id",
                    conflictingID: id.hex
                )
            }
            if try ContentKeyStore.insert(id, wrapped, owner: owner, at: now, in: transaction) {
                try AuditStore.append(
                    actor.entry("content-key.add", on: id.hex, at: now, reason: owner.map { "owner \($0)" } ?? ""),
                    in: transaction
                )
                return
            }
            let reach: ContentKeyStore.Reach = .issuer(owner)
            guard let known = try ContentKeyStore.key(id, of: reach, in: transaction), try master.unwrap(known) == key else {
                throw ServerError(.conflict, "another key has this id", conflictingID: id.hex)
            }
        }
    }

    /// Refuses an unknown owner, and an owner of the key of a title, which opens the title for every portal.
    private func requirePortal(_ owner: String, _ id: KeyID) async throws {
        let (isKnown, titles) = try await database.search { transaction in
            (
                try AccountStore.serviceKeys(in: transaction).contains { $0.id == owner && $0.revokedAt == nil },
                try TitleStore.allIDs(in: transaction)
            )
        }
        guard isKnown else { throw ServerError(.notFound, "there is no back-office key \(owner)") }
        guard !titles.contains(where: { KeyID(label: LicenseDesk.contentID(ofTitle: $0)) == id }) else {
            throw ServerError(.forbidden, "the key of a title has no owner: staff add it with 'carrel content-key add'")
        }
    }

    /// Refuses contents whose key neither the request nor the key store has.
    ///
    /// - Throws: ``TokenRefusal`` −4019.
    func requireKeys(of contents: [BusinessRules.Content], for portal: String) async throws {
        let missing = contents.filter { $0.key == nil }.map(\.keyID)
        guard !missing.isEmpty else { return }
        let isStored = try await database.read { transaction in
            try missing.allSatisfy { try ContentKeyStore.key($0, of: .portal(portal), in: transaction) != nil }
        }
        guard isStored else { throw TokenRefusal(.keyStore) }
    }

    /// Keys in the order of their ids.
    func list(after id: KeyID?, limit: Int) async throws -> [Listed] {
        try await database.read { try ContentKeyStore.list(after: id, limit: limit, in: $0) }
    }

    /// Removes a key: no further token that names it is redeemed. Licenses that were issued keep their copies, also of one that is issued while
    /// this runs.
    ///
    /// - Parameters:
    ///   - id: of the key.
    ///   - isForced: whether live licenses that have it are no reason to keep it.
    ///   - isRevoked: whether devices stop using licenses with the key: its id is in the next list of revocations, for good.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.not-found` without such a key; `request.conflict` while live licenses have it.
    func remove(_ id: KeyID, isForced: Bool, isRevoked: Bool = false, by actor: AuditActor) async throws {
        let now = clock.now
        if !isForced {
            let count = try await database.read { transaction in
                guard try isRevoked || ContentKeyStore.key(id, of: .all, in: transaction) != nil else { throw Self.unknown }
                return try ContentKeyStore.liveLicenses(of: id, at: now, limit: Self.countLimit, in: transaction)
            }
            let number = count == Self.countLimit ? "\(count) or more licenses" : count == 1 ? "1 license" : "\(count) licenses"
            guard count == 0 else {
                throw ServerError(
                    .conflict,
                    "\(number) with this key can still be used: force the removal to refuse further tokens all the same",
                    conflictingID: id.hex
                )
            }
        }
        let entry = actor.entry(isRevoked ? "content-key.revoke" : "content-key.remove", on: id.hex, at: now)
        try await database.write { transaction in
            // a key that was removed before can be revoked still
            guard try ContentKeyStore.remove(id, in: transaction) || isRevoked else { throw Self.unknown }
            if isRevoked { try PlayerStore.revokeRight("kid", id.hex, until: nil, at: now, in: transaction) }
            try AuditStore.append(entry, in: transaction)
        }
    }

    private static let unknown = ServerError(.notFound, "the key store has no such key")
}
