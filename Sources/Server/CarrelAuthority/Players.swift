// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelHome
package import CarrelStore
import CarrelThreads

/// Lists, suspends and revokes players, with or without an account.
package struct Players: Sendable {
    let database: any Database
    let clock: any WallClock
    private let participants = Locked<[Participant]>([])

    /// The end of a player.
    package enum Ending: Sendable, Equatable {
        /// It is revoked, for good.
        case revoked(byStaff: Bool)
        /// The person of its account is erased.
        case erased
        /// Its certificate ended long ago, and it is deleted.
        case removed
    }

    /// Reacts to the end of a player in its transaction, on its own tables.
    package typealias Participant = @Sendable (Player, Ending, _ now: Instant, any Transaction) throws -> Void

    init(database: any Database, clock: any WallClock) {
        self.database = database
        self.clock = clock
    }

    /// Adds a participant, which acts on the end of every player.
    package func onEnd(_ participant: @escaping Participant) {
        participants.withLock { $0.append(participant) }
    }

    private func note(_ ending: Ending, of player: Player, at now: Instant, in transaction: any Transaction) throws {
        for participant in participants.withLock(\.self) { try participant(player, ending, now, transaction) }
    }

    /// Revokes players, and lists each until the end of its last license.
    ///
    /// - Returns: the number of players that were not revoked before.
    private func revoke(_ players: [Player], byStaff: Bool, at now: Instant, in transaction: any Transaction) throws -> Int {
        var count = 0
        for player in players where try PlayerStore.revoke(player.id, byStaff: byStaff, at: now, in: transaction) {
            count += 1
            if let end = player.licensedUntil, now < end {
                let until = end == Player.never ? nil : end
                try RevokedRight.player.revoke(player.id, until: until, byStaff: byStaff, at: now, in: transaction)
            }
            try note(.revoked(byStaff: byStaff), of: player, at: now, in: transaction)
        }
        return count
    }

    /// Deletes players whose certificates ended before a time. The keys of revoked players stay known.
    ///
    /// - Returns: the number of deleted players.
    func removeExpired(before end: Instant, at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let ids = try PlayerStore.expired(before: end, limit: limit, in: transaction)
        for id in ids {
            guard let player = try PlayerStore.player(id: id, in: transaction) else { continue }
            if let revokedAt = player.revokedAt, try transaction.row(PlayerStore.leavesNothing, [.text(id)]) == nil {
                for key in [player.signingKey, player.agreementKey] {
                    try RevokedRight.playerKey.revoke(key, until: nil, at: revokedAt, in: transaction)
                }
            }
            try note(.removed, of: player, at: now, in: transaction)
            try PlayerStore.remove(id, in: transaction)
        }
        return ids.count
    }

    package func list(of account: String) async throws -> [Player] {
        try await database.read { try PlayerStore.players(of: account, in: $0) }
    }

    package func list(after: (Instant, String)?, limit: Int) async throws -> [Player] {
        try await database.read { try PlayerStore.players(after: after, limit: limit, in: $0) }
    }

    /// - Throws: ``ServerError`` `request.not-found`.
    package func find(_ id: String) async throws -> Player {
        guard let player = try await database.read({ try PlayerStore.player(id: id, in: $0) }) else { throw Self.unknown }
        return player
    }

    /// Changes that staff make, of which readers may revoke their own players.
    package enum Change: String, Sendable, CaseIterable {
        case suspend
        case resume
        case revoke
    }

    /// Suspends, resumes or revokes a player. Revoking is for good: the copy of the app must be personalized again, with new
    /// keys.
    ///
    /// - Parameters:
    ///   - id: the id.
    ///   - change: the change.
    ///   - account: when set, the player must be linked to that account.
    ///   - actor: the actor for the audit log.
    /// - Returns: the player after the change.
    /// - Throws: ``ServerError`` `request.not-found`.
    package func change(_ id: String, _ change: Change, of account: String? = nil, by actor: AuditActor) async throws -> Player {
        let now = clock.now
        return try await database.write { transaction -> Player in
            guard let player = try PlayerStore.player(id: id, in: transaction), account == nil || player.account == account else {
                throw Self.unknown
            }
            let isChanged =
                switch change {
                case .suspend: try PlayerStore.suspend(id, by: .staff, at: now, in: transaction)
                case .resume: try PlayerStore.resume(id, in: transaction)
                case .revoke: try revoke([player], byStaff: account == nil, at: now, in: transaction) > 0
                }
            guard isChanged, let changed = try PlayerStore.player(id: id, in: transaction) else { return player }
            if change == .revoke, let device = player.device { try Devices.release(device, at: now, in: transaction) }
            // a change by staff stands: the player does not give way to others
            if change != .resume { try GuestStore.remove(id, in: transaction) }
            if change == .revoke, account != nil, player.licensedAt == nil {
                try PlayerStore.unlist(id, in: transaction)
            } else {
                try PlayerStore.bumpRevocations(in: transaction)
            }
            try AuditStore.append(actor.entry("player.\(change.rawValue)", on: id, at: now), in: transaction)
            return changed
        }
    }

    private static let unknown = ServerError(.notFound, "there is no such player")
}

extension Players: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        let byStaff = actor.id != account && actor.id != AuditActor.anonymous
        var count: Int
        switch change {
        case .suspended: count = try PlayerStore.suspendAll(of: account, at: now, in: transaction)
        case .resumed: count = try PlayerStore.resumeAll(of: account, in: transaction)
        case .devicesRevoked:
            let freed = try PlayerStore.players(of: account, in: transaction).filter { player in
                try player.device.map { try Devices.isFree($0, in: transaction) } ?? false
            }
            count = try revoke(freed, byStaff: byStaff, at: now, in: transaction)
        case .erased:
            let players = try PlayerStore.players(of: account, in: transaction)
            _ = try revoke(players, byStaff: byStaff, at: now, in: transaction)
            for player in players { try note(.erased, of: player, at: now, in: transaction) }
            count = try PlayerStore.erase(account, at: now, in: transaction)
        case .passwordReplaced:
            // A thief of the password may have personalized a player with it.
            let players = try PlayerStore.players(of: account, in: transaction)
            count = try revoke(players, byStaff: byStaff, at: now, in: transaction)
        case .sessionStolen(let family, let devices):
            // A thief of the session may have linked a player with it. Other players have nothing to do with the session.
            let linked = try PlayerStore.players(of: account, in: transaction).filter { player in
                player.family.map { $0 == family } ?? player.device.map(devices.contains) ?? false
            }
            count = try revoke(linked, byStaff: false, at: now, in: transaction)
        case .holdingsReduced, .promoted: count = 0
        }
        switch change {
        case .devicesRevoked where actor.id == account, .passwordReplaced where actor.id == account, .sessionStolen:
            if try count > 0 && !PlayerStore.unlist(of: account, revokedAt: now, in: transaction) { count = 0 }
        default: break
        }
        if count > 0 { try PlayerStore.bumpRevocations(in: transaction) }
        return []
    }
}
