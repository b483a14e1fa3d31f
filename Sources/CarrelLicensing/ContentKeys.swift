import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelRights
import CarrelStore

/// The key store: keys of content for which tokens bring none. A license has a copy of its keys.
struct ContentKeys: Sendable {
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared

    /// A key as lists have it.
    struct Listed: Sendable {
        let id: KeyID
        let addedAt: Instant
    }

    /// Live licenses that a refusal counts at most.
    private static let countLimit = 1000

    /// Adds a key; an existing one stays.
    ///
    /// - Throws: ``ServerError`` `request.conflict` where another key has that id.
    func add(_ id: KeyID, _ key: Secret, by actor: AuditActor) async throws {
        let now = clock.now
        let wrapped = try master.current.wrap(key)
        let master = master
        try await database.write { transaction in
            if try ContentKeyStore.insert(id, wrapped, at: now, in: transaction) {
                try AuditStore.append(actor.entry("content-key.add", on: id.hex, at: now), in: transaction)
            } else if let known = try ContentKeyStore.key(id, in: transaction), try master.unwrap(known) != key {
                throw ServerError(.conflict, "another key has this id", conflictingID: id.hex)
            }
        }
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
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.not-found` without such a key; `request.conflict` while live licenses have it.
    func remove(_ id: KeyID, isForced: Bool, by actor: AuditActor) async throws {
        let now = clock.now
        if !isForced {
            let count = try await database.read { transaction in
                guard try ContentKeyStore.key(id, in: transaction) != nil else { throw Self.unknown }
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
        let entry = actor.entry("content-key.remove", on: id.hex, at: now)
        try await database.write { transaction in
            guard try ContentKeyStore.remove(id, in: transaction) else { throw Self.unknown }
            try AuditStore.append(entry, in: transaction)
        }
    }

    private static let unknown = ServerError(.notFound, "the key store has no such key")
}
