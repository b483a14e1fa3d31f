// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelStore
import CarrelThreads
import CarrelTokens

/// The keys that license messages are signed with: one of the service's own, and those that operators share with portals.
package final class CommunicationKeys: Sendable {
    private let database: any Database
    private let master: MasterKeyring.Shared
    /// The ids of keys that open relays, and make no grant here.
    private let relayKeys: Set<KeyID>
    /// Every node reads its own secrets again once a minute.
    private let cache = SnapshotCache<Int, [LicenseMessage.CommunicationKey]>(limit: 1, life: .seconds(60))

    /// Keys of operators at most.
    private static let limit = 1000

    /// Creates the service's first key if none exists.
    init(database: any Database, master: MasterKeyring.Shared, relayKeys: Set<KeyID>, at now: Instant) async throws {
        (self.database, self.master, self.relayKeys) = (database, master, relayKeys)
        try await SigningSecret.makeFirst(.message, master, in: database, at: now)
    }

    /// The service's own keys, the signing key first.
    private func own(at now: Instant) async throws -> [LicenseMessage.CommunicationKey] {
        let found = cache.find(0, at: now)
        if let keys = found.value, found.isFresh { return keys }
        let master = master
        let secrets = try await database.read { try SigningSecret.all(.message, master, in: $0) }
        let signing = SigningSecret.signing(at: now, of: secrets) ?? secrets.first
        let keys = try secrets.sorted { first, second in first.id == signing?.id && second.id != signing?.id }.map { secret in
            try LicenseMessage.CommunicationKey(id: Self.id(of: secret.secret), secret: secret.secret)
        }
        cache.insert(keys, for: 0, readAt: now, since: found)
        return keys
    }

    /// Evicts the service's own keys: they were replaced.
    func forgetOwn() { cache.invalidateAll() }

    /// The id of a key of our own, which messages name: no secret, and the same on every node.
    private static func id(of secret: Secret) -> KeyID {
        let label = Array("carrel communication key".utf8)
        let digest = HMACSHA256(key: secret).authenticate(label.rawSpan)
        guard let id = KeyID(Array(digest.prefix(KeyID.byteCount))) else { preconditionFailure("a digest is longer than an id") }
        return id
    }

    /// The key that signs messages of the service.
    func signing(at now: Instant) async throws -> LicenseMessage.CommunicationKey {
        guard let key = try await own(at: now).first else {
            throw ServerError(.home, "the database has no secret for license messages")
        }
        return key
    }

    /// The system that signs with a communication key.
    package enum Signer: Sendable, Equatable {
        case service
        /// Another system, with the back-office key that its messages count as; nil for none.
        case portal(String?)
    }

    /// The key of an id, and its system; nil for an unknown key, for the key of a relay, and if the back-office key that its messages
    /// count as was revoked.
    func find(_ id: KeyID, at now: Instant) async throws -> (key: LicenseMessage.CommunicationKey, signer: Signer)? {
        if let key = try await own(at: now).first(where: { $0.id == id }) { return (key, .service) }
        guard !relayKeys.contains(id) else { return nil }
        let valid = try await database.readBriefly { transaction -> (key: MasterKeyring.Wrapped, owner: String?)? in
            guard let stored = try LicenseStore.communicationKey(id, in: transaction),
                try stored.owner.map({ try Accounts.isServiceKeyValid($0, in: transaction) }) ?? true
            else { return nil }
            return stored
        }
        guard let stored = valid else { return nil }
        return (try LicenseMessage.CommunicationKey(id: id, secret: try master.unwrap(stored.key)), .portal(stored.owner))
    }

    /// A key as lists have it.
    struct Listed: Sendable {
        let id: KeyID
        /// When an operator added it; nil for the service's own.
        let createdAt: Instant?
        /// The back-office key that its messages count as; nil for none.
        let owner: String?

        var json: JSON {
            [
                "id": .string(id.uuid), "isOwn": .bool(createdAt == nil),
                "createdAt": createdAt.map { .string($0.description) } ?? .null, "owner": owner.map { .string($0) } ?? .null,
            ]
        }
    }

    /// Lists the service's own keys, then operators' keys, the oldest first.
    func list(at now: Instant) async throws -> [Listed] {
        let own = try await own(at: now).map { Listed(id: $0.id, createdAt: nil, owner: nil) }
        let added = try await database.read { try LicenseStore.communicationKeys(in: $0) }
        return own + added.map { Listed(id: $0.id, createdAt: $0.createdAt, owner: $0.owner) }
    }

    /// Removes a key of an operator: messages that are signed with it are refused from now on. Licenses stay.
    ///
    /// - Throws: ``ServerError`` `request.not-found` without such a key; `request.conflict` for a key of the service.
    func remove(_ id: KeyID, by actor: AuditActor, at now: Instant) async throws {
        guard try await !own(at: now).contains(where: { $0.id == id }) else {
            throw ServerError(.conflict, "a key of the service cannot be removed", conflictingID: id.uuid)
        }
        let entry = actor.entry("communication-key.remove", on: id.uuid, at: now)
        try await database.write { transaction in
            guard try LicenseStore.removeCommunicationKey(id, in: transaction) else {
                throw ServerError(.notFound, "there is no such communication key")
            }
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// Adds a signing key of a portal; an existing one stays, with its owner.
    ///
    /// - Parameters:
    ///   - id: the key's id.
    ///   - secret: 32 bytes.
    ///   - owner: the back-office key whose content keys its messages may name; nil: only keys without an owner.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    /// - Throws: ``ServerError`` `request.conflict` if another key or a relay's has that id, or there are too many; `request.not-found`
    ///   for an unknown owner.
    func add(_ id: KeyID, _ secret: Secret, owner: String?, by actor: AuditActor, at now: Instant) async throws {
        guard try await !own(at: now).contains(where: { $0.id == id }) else {
            throw ServerError(.conflict, "a key of the service has this id", conflictingID: id.uuid)
        }
        guard !relayKeys.contains(id) else {
            throw ServerError(.conflict, "the key of a relay has this id: it opens the relay alone", conflictingID: id.uuid)
        }
        let wrapped = try master.current.wrap(secret)
        let master = master
        try await database.write { transaction in
            if let owner { try Accounts.requireServiceKey(owner, in: transaction) }
            if let known = try LicenseStore.communicationKey(id, in: transaction) {
                guard try master.unwrap(known.key) == secret, known.owner == owner else {
                    throw ServerError(.conflict, "another key has this id", conflictingID: id.uuid)
                }
                return
            }
            guard try LicenseStore.communicationKeyCount(in: transaction) < Self.limit else {
                throw ServerError(.conflict, "there are \(Self.limit) communication keys already")
            }
            try LicenseStore.insertCommunicationKey(id, wrapped, owner: owner, at: now, in: transaction)
            let reason = owner.map { "owner \($0)" } ?? ""
            try AuditStore.append(actor.entry("communication-key.add", on: id.uuid, at: now, reason: reason), in: transaction)
        }
    }
}
