// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelAudit
import CarrelAuthority
package import CarrelBytes
import CarrelCatalog
package import CarrelCrypto
import CarrelHome
package import CarrelRights
package import CarrelStore
import CarrelThreads
package import CarrelTokens

/// The key store: keys of content for which tokens bring none. A license has a copy of its keys.
package struct ContentKeys: Sendable {
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared
    /// The ids of the keys of all titles, computed at most once a minute.
    private let titles = SnapshotCache<Int, Set<KeyID>>(limit: 1, life: .seconds(60))
    private let counters = Locked<[UseCounter]>([])

    /// Counts the live uses of a key, `limit` at most.
    package typealias UseCounter = @Sendable (_ id: KeyID, _ now: Instant, _ limit: Int, any Transaction) throws -> Int

    /// Adds a counter of uses: a key in use is removed by force only.
    package func count(_ counter: @escaping UseCounter) {
        counters.withLock { $0.append(counter) }
    }

    init(database: any Database, clock: any WallClock, master: MasterKeyring.Shared) {
        (self.database, self.clock, self.master) = (database, clock, master)
    }

    /// Live licenses that a refusal counts at most.
    private static let countLimit = 1000

    /// Adds a key; an existing one stays, with its owner.
    ///
    /// - Parameters:
    ///   - id: the key's id.
    ///   - key: 16 bytes.
    ///   - owner: the back-office key that may name it; nil for every portal. A key of a title of the catalog has no owner.
    ///   - content: the content that packagers get the key for; nil if they do not get it. A key of a title has none.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.conflict` if another key has that id, or the id was revoked; `request.forbidden` for
    ///   the key of a title with an owner or a content, and for the content of a title; `request.not-found` for an unknown owner.
    package func add(_ id: KeyID, _ key: Secret, owner: String?, content: String? = nil, by actor: AuditActor) async throws {
        let now = clock.now
        if let owner { try await requirePortal(owner, id) }
        if let content {
            try Self.requireNotReserved(content)
            try await requireNoTitle([id])
        }
        let wrapped = try master.current.wrap(key)
        let master = master
        try await database.write { transaction in
            guard try !RevokedRight.key.isRevoked(id.hex, in: transaction) else {
                throw Self.revoked(id)
            }
            if try ContentKeyStore.insert(id, wrapped, owner: owner, content: content, at: now, in: transaction) {
                try AuditStore.append(
                    actor.entry(
                        content == nil ? "content-key.add" : "content-key.import",
                        on: id.hex,
                        at: now,
                        reason: owner.map { "owner \($0)" } ?? ""
                    ),
                    in: transaction
                )
                return
            }
            let reach: ContentKeyStore.Reach = .issuer(owner)
            guard let known = try ContentKeyStore.key(id, of: reach, in: transaction), try master.unwrap(known) == key else {
                throw ServerError(.conflict, "another key has this id", conflictingID: id.hex)
            }
            guard try content == nil || ContentKeyStore.keyAndContent(id, in: transaction)?.content == content else {
                throw ServerError(.conflict, "the key is there for another content", conflictingID: id.hex)
            }
        }
    }

    /// Refuses an unknown owner, and an owner of the key of a title, which opens the title for every portal.
    private func requirePortal(_ owner: String, _ id: KeyID) async throws {
        try await database.read { try Accounts.requireServiceKey(owner, in: $0) }
        guard try await !titleKeys().contains(id) else {
            throw ServerError(.forbidden, "the key of a title has no owner: staff add it with 'carrel content-key add'")
        }
    }

    /// A license of a title takes no key with an owner, so that a title of the last minute is not at risk.
    func titleKeys() async throws -> Set<KeyID> {
        let (now, found) = (clock.now, titles.find(0, at: clock.now))
        if let known = found.value, found.isFresh { return known }
        let (ids, numbers) = try await database.search {
            (try TitleStore.allIDs(in: $0), try EditionStore.keyNumbers(in: $0))
        }
        // the next numbers too, so that no portal takes the ids of keys to come
        let keys = Set(
            ids.flatMap { id in
                let last = numbers[id].map { $0 + TitleContent.keyLimit } ?? 1
                return (1...last).map { TitleContent.keyID(ofTitle: id, number: $0) }
            }
        )
        titles.insert(keys, for: 0, readAt: now, since: found)
        return keys
    }

    /// Refuses contents whose key neither the request nor the key store has, or whose key id is revoked.
    ///
    /// - Throws: ``TokenRefusal`` −4019.
    package func requireKeys(of contents: [BusinessRules.Content], for portal: String) async throws {
        guard !contents.isEmpty else { return }
        let areThere = try await database.read { transaction in
            try contents.allSatisfy { content in
                guard try !RevokedRight.key.isRevoked(content.keyID.hex, in: transaction) else { return false }
                return try content.key != nil
                    || ContentKeyStore.key(content.keyID, of: .portal(portal), in: transaction) != nil
            }
        }
        guard areThere else { throw TokenRefusal(.keyStore) }
    }

    /// Keys in the order of their ids.
    package func list(after id: KeyID?, limit: Int) async throws -> [ContentKeyStore.Listed] {
        try await database.read { try ContentKeyStore.list(after: id, limit: limit, in: $0) }
    }

    /// Removes a key: tokens that name it can no longer be redeemed. Issued licenses keep their copies, including licenses issued
    /// during the call.
    ///
    /// - Parameters:
    ///   - id: the key's id.
    ///   - isForced: whether to remove it although live licenses have it.
    ///   - isRevoked: whether devices stop using licenses with the key: its id is in the next list of revocations, permanently.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.not-found` without such a key; `request.conflict` while live licenses have it.
    package func remove(_ id: KeyID, isForced: Bool, isRevoked: Bool = false, by actor: AuditActor) async throws {
        let now = clock.now
        if !isForced {
            let count = try await database.read { transaction in
                guard try isRevoked || ContentKeyStore.key(id, of: .all, in: transaction) != nil else { throw Self.unknown }
                return try counters.withLock(\.self).reduce(0) { try $0 + $1(id, now, Self.countLimit, transaction) }
            }
            let number =
                count >= Self.countLimit ? "\(Self.countLimit) or more licenses" : count == 1 ? "1 license" : "\(count) licenses"
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
            if isRevoked { try RevokedRight.key.revoke(id.hex, until: nil, byStaff: true, at: now, in: transaction) }
            try AuditStore.append(entry, in: transaction)
        }
    }

    static func revoked(_ id: KeyID) -> ServerError {
        ServerError(.conflict, "the id of the key was revoked: give the content a key with another id", conflictingID: id.hex)
    }

    static let unknown = ServerError(.notFound, "the key store has no such key")
}
