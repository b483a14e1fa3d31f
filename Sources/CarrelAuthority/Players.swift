package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelHome
package import CarrelStore

/// Lists, suspends and revokes players, with an account or without one.
package struct Players: Sendable {
    let database: any Database
    let clock: any WallClock

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

    /// Suspends, resumes or revokes a player. Revoking is for good: the copy of the app must be personalised again, with new keys.
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
                case .revoke: try PlayerStore.revoke(id, at: now, in: transaction)
                }
            guard isChanged, let changed = try PlayerStore.player(id: id, in: transaction) else { return player }
            if change == .revoke, let device = player.device { try Devices.release(device, at: now, in: transaction) }
            try PlayerStore.bumpRevocations(in: transaction)
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
        let count: Int
        switch change {
        case .suspended: count = try PlayerStore.suspendAll(of: account, at: now, in: transaction)
        case .resumed: count = try PlayerStore.resumeAll(of: account, in: transaction)
        case .devicesRevoked: count = try PlayerStore.revokeFreed(of: account, at: now, in: transaction)
        case .erased: count = try PlayerStore.erase(account, at: now, in: transaction)
        // A thief of the password or the session may have personalised a player with it.
        case .passwordReplaced, .sessionStolen: count = try PlayerStore.revokeAll(of: account, at: now, in: transaction)
        case .holdingsReduced, .promoted: count = 0
        }
        if count > 0 { try PlayerStore.bumpRevocations(in: transaction) }
        return []
    }
}
