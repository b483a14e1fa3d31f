// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelStore

/// Sessions: issued at sign-in, found by their tokens, renewed, ended.
///
/// A token is shown once; only its SHA-256 is stored. Its successor is derived from it under a secret of the server, so that a
/// repeated renewal, after a lost response, returns the same successor.
package struct Sessions: Sendable {
    let database: any Database
    let clock: any WallClock
    let lifecycle: AccountLifecycle
    private let renewal: HMACSHA256

    package static let prefix = "cs_"

    /// Successors are derived under 32 secret bytes.
    init(database: any Database, clock: any WallClock, lifecycle: AccountLifecycle, renewalSecret: Secret) {
        self.database = database
        self.lifecycle = lifecycle
        self.clock = clock
        renewal = HMACSHA256(key: renewalSecret)
    }

    /// A token that came from outside; nil if it cannot be one of ours, which takes no look into the database.
    package static func token(_ text: String) -> OpaqueToken? { OpaqueToken(text, prefix: prefix) }

    /// Whether a token that came from outside can be one of ours.
    package static func couldBe(_ text: String) -> Bool { OpaqueToken.isWellFormed(text, prefix: prefix) }

    /// Stores a session in the transaction of whatever signed the account in. Token and family are fresh, and made outside,
    /// because transactions may run again.
    package func insert(
        _ token: OpaqueToken,
        family: String,
        account: String,
        device: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        guard
            try SessionStore.insert(
                token.hash,
                account: account,
                family: family,
                device: device,
                created: now,
                in: transaction
            )
        else { throw ServerError(.conflict, "a random token collided with an existing one: try again") }
    }

    /// The session of a token with its state; nil if there is none.
    func find(_ token: OpaqueToken) async throws -> (session: Session, state: Session.State)? {
        guard let session = try await database.readBriefly({ try SessionStore.session(token.hash, in: $0) }) else { return nil }
        return (session, session.state(at: clock.now))
    }

    /// Ends the family of a token that was used long after its renewal, and revokes the account's issued credentials: the token
    /// may be stolen.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - caller: the actor for the audit log.
    /// - Throws: the database's error.
    package func endReused(_ token: OpaqueToken, by caller: AuditActor) async throws {
        let now = clock.now
        try await lifecycle.write(in: database) { transaction, changes in
            guard let session = try SessionStore.session(token.hash, in: transaction), session.state(at: now) == .reused else {
                return
            }
            let entry = caller.entry("session.use", on: session.family, at: now, outcome: .refused, reason: "reused")
            try Self.endStolen(session, entry, by: caller, changes, in: transaction)
        }
    }

    private static func endStolen(
        _ session: Session,
        _ entry: AuditEntry,
        by caller: AuditActor,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        let devices = Set(try SessionStore.devices(ofFamily: session.family, of: session.account.id, in: transaction))
        _ = try end(session.family, of: session.account.id, entry, in: transaction)
        let change = AccountChange.sessionStolen(family: session.family, devices: devices)
        try changes.note(change, of: session.account.id, by: caller, at: entry.at, in: transaction)
    }

    /// Records the use of a session, at most once a day.
    ///
    /// - Parameters:
    ///   - seenAt: its last use. Not the whole session, whose texts are seldom in the processor's cache.
    ///   - hash: the hash of its token.
    /// - Throws: the database's error.
    package func touch(seenAt: Instant, _ hash: [UInt8]) async throws {
        let now = clock.now
        guard now - seenAt >= Session.seenStep else { return }
        try await database.write { try SessionStore.markSeen(hash, at: now, in: $0) }
    }

    /// Renews a session; within the grace, returns the same successor each time.
    ///
    /// - Parameters:
    ///   - token: the session's token.
    ///   - caller: the actor for the audit log if the token may be stolen; otherwise it is the account.
    /// - Returns: nil for an unknown, ended or revoked token, and for one renewed long ago, whose family ends.
    /// - Throws: the database's error.
    package func renew(_ token: OpaqueToken, for caller: AuditActor) async throws -> OpaqueToken? {
        // Well-formed tokens can be made up: reading them must not delay writers.
        guard let (_, state) = try await find(token), state != .ended else { return nil }
        let now = clock.now
        let successor = successor(of: token)
        let isRenewed = try await lifecycle.write(in: database) { transaction, changes in
            try Self.renew(token, successor, for: caller, at: now, changes, in: transaction)
        }
        return isRenewed ? successor : nil
    }

    private static func renew(
        _ token: OpaqueToken,
        _ successor: OpaqueToken,
        for caller: AuditActor,
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws -> Bool {
        guard let session = try SessionStore.session(token.hash, in: transaction) else { return false }
        switch session.state(at: now) {
        case .ended: return false
        case .reused:
            let entry = caller.entry("session.renew", on: session.family, at: now, outcome: .refused, reason: "reused")
            try endStolen(session, entry, by: caller, changes, in: transaction)
            return false
        case .live, .stale:
            _ = try SessionStore.insert(
                successor.hash,
                account: session.account.id,
                family: session.family,
                device: session.deviceID,
                created: now,
                in: transaction
            )
            try SessionStore.markRenewed(token.hash, at: now, in: transaction)
            let actor = AuditActor(session.account.id, requestID: caller.requestID)
            try AuditStore.append(actor.entry("session.renew", on: session.family, at: now), in: transaction)
            return true
        }
    }

    private func successor(of token: OpaqueToken) -> OpaqueToken {
        OpaqueToken(random: renewal.authenticate(Array(token.text.utf8).rawSpan), prefix: Self.prefix)
    }

    package func list(of account: Account) async throws -> [Session] {
        let now = clock.now
        return try await database.read { try SessionStore.sessions(of: account.id, at: now, in: $0) }
    }

    /// All valid sessions, newest first.
    func live(after: (Instant, String)?, limit: Int) async throws -> [SessionStore.Live] {
        let now = clock.now
        return try await database.read { try SessionStore.live(at: now, after: after, limit: limit, in: $0) }
    }

    /// Ends the session of a token, with its predecessors, and frees the slot of its device. Does nothing without such a session.
    package func end(_ token: OpaqueToken, for caller: AuditActor) async throws {
        guard try await find(token) != nil else { return }
        let now = clock.now
        try await database.write { transaction in
            guard let session = try SessionStore.session(token.hash, in: transaction) else { return }
            let actor = AuditActor(session.account.id, requestID: caller.requestID)
            let entry = actor.entry("session.end", on: session.family, at: now)
            _ = try Self.end(session.family, of: session.account.id, entry, in: transaction)
        }
    }

    /// Ends a session and its predecessors, and frees the slot of its device.
    ///
    /// - Parameters:
    ///   - family: the session.
    ///   - account: the account.
    ///   - isOwner: whether the owner acts, for whom the device limit's cool-down applies; false for staff.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `notFound` without such a session.
    package func end(_ family: String, of account: Account, isOwner: Bool, by actor: AuditActor) async throws {
        let now = clock.now
        try await database.write { transaction in
            let devices = try SessionStore.devices(ofFamily: family, of: account.id, in: transaction)
            guard !family.isEmpty,
                try Self.end(family, of: account.id, actor.entry("session.end", on: family, at: now), in: transaction)
            else { throw ServerError(.notFound, "there is no such session") }
            if !isOwner { for device in devices { try DeviceStore.freeForStaff(device, at: now, in: transaction) } }
        }
    }

    /// Ends all sessions of an account for its staff, also at the administrators' page, revokes its links, frees its devices'
    /// slots and resets the count of device changes.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - actor: the actor for the audit log.
    /// - Returns: the number of ended sessions.
    /// - Throws: the database's error; then no session ends.
    func endAll(of account: Account, by actor: AuditActor) async throws -> Int {
        let now = clock.now
        return try await database.write { transaction in
            let count = try Self.endOthers(than: "", of: account.id, by: actor, at: now, in: transaction)
            try DeviceStore.freeAllUnheldForStaff(of: account.id, at: now, in: transaction)
            return count
        }
    }

    /// Ends all other sessions of an account, also at the administrators' page, and revokes its links.
    ///
    /// - Parameters:
    ///   - family: the session that continues.
    ///   - account: the account.
    ///   - actor: the actor for the audit log.
    /// - Returns: the number of ended sessions.
    /// - Throws: the database's error; then no session ends.
    package func endOthers(than family: String, of account: Account, by actor: AuditActor) async throws -> Int {
        let now = clock.now
        return try await database.write { transaction in
            try Self.endOthers(than: family, of: account.id, by: actor, at: now, in: transaction)
        }
    }

    /// The same, in the transaction of the causing change.
    @discardableResult
    static func endOthers(
        than family: String,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Int {
        let others = try SessionStore.families(of: account, butFor: family, in: transaction)
        for other in others { _ = try end(other, of: account, actor.entry("session.end", on: other, at: now), in: transaction) }
        try SessionStore.deleteAll(ofAccount: account, butFor: family, in: transaction)
        return others.count
    }

    /// Whether there was such a session.
    private static func end(
        _ family: String,
        of account: String,
        _ entry: AuditEntry,
        in transaction: any Transaction
    ) throws -> Bool {
        let devices = try SessionStore.devices(ofFamily: family, of: account, in: transaction)
        guard try SessionStore.deleteFamily(family, of: account, in: transaction) else { return false }
        for device in devices { try DeviceStore.freeUnheld(device, at: entry.at, in: transaction) }
        try AuditStore.append(entry, in: transaction)
        return true
    }
}
