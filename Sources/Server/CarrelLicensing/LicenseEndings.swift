// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelRights
import CarrelStore

/// Ends licenses with their players, and stops or deletes them with their accounts.
struct LicenseEndings: AccountParticipant {
    func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        switch change {
        case .suspended: try LicenseStore.suspendAll(of: account, at: now, in: transaction)
        case .resumed: try RevokedRight.resume(of: account, in: transaction)
        case .erased: try LicenseStore.removeAll(of: account, at: now, in: transaction)
        default: break
        }
        return []
    }

    /// The players' own accounts from before they were linked.
    func accounts(besides account: String, in transaction: any Transaction) throws -> [String] {
        try Players.list(of: account, in: transaction).compactMap {
            try Accounts.find(named: LicenseDesk.ownAccount(of: $0.id), in: transaction)?.id
        }.filter { $0 != account }
    }

    /// Acts on the end of a player.
    static func end(_ player: Player, _ ending: Players.Ending, at now: Instant, in transaction: any Transaction) throws {
        switch ending {
        case .revoked(let byStaff): try LicenseStore.endAll(of: player, byStaff: byStaff, at: now, in: transaction)
        case .erased: try LicenseStore.removeOwn(of: player, in: transaction)
        case .removed: try LicenseStore.removeAll(of: player, in: transaction)
        }
    }
}

extension LicenseStore {
    static let liveOfDevice = SQL("SELECT id FROM licenses WHERE player_id = $1 AND ended_at IS NULL ORDER BY id")
    static let idsOfDevice = SQL("SELECT id FROM licenses WHERE player_id = $1 ORDER BY id")
    static let idsOfSubjectOnDevice = SQL("SELECT id FROM licenses WHERE player_id = $1 AND subject = $2 ORDER BY id")
    /// Licenses of an account that devices keep which are not linked to it.
    static let keptElsewhere = SQL(
        """
        SELECT id FROM licenses
        WHERE subject = $1 AND session = 'persist' AND ended_at IS NULL AND (until IS NULL OR until > $2) AND NOT EXISTS (
            SELECT 1 FROM players WHERE players.id = licenses.player_id AND players.account_id = $1)
        ORDER BY id
        """
    )
    /// Keeps that tokens were redeemed, without what for.
    static let clearRedemptions = SQL("UPDATE redemptions SET content_id = '', cookie = NULL WHERE player_id = $1")
    static let clearRedemption = SQL("UPDATE redemptions SET content_id = '', cookie = NULL WHERE license_id = $1")

    static let statementsOfEndings = [
        liveOfDevice, idsOfDevice, idsOfSubjectOnDevice, keptElsewhere, clearRedemptions, clearRedemption,
    ]

    /// Lists the licenses of an account whose devices do not stop with it, until the account resumes.
    fileprivate static func suspendAll(of account: String, at now: Instant, in transaction: any Transaction) throws {
        for row in try transaction.rows(keptElsewhere, [.text(account), .instant(now)]) {
            guard let license = try license(try row.text(0), in: transaction) else { continue }
            try RevokedRight.license.revoke(
                license.id,
                until: license.terms.notAfter,
                byStaff: true,
                whileSuspended: account,
                at: now,
                in: transaction
            )
        }
    }

    /// Ends the licenses of a revoked player. The list names the player; licenses are listed for apps that do not read that.
    fileprivate static func endAll(
        of player: Player,
        byStaff: Bool,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        for row in try transaction.rows(liveOfDevice, [.text(player.id)]) {
            guard let license = try license(try row.text(0), in: transaction),
                try end(license.id, by: "player", at: now, in: transaction)
            else { continue }
            guard player.listVersion < Revocations.version, license.isKept(at: now) else { continue }
            try revoke(license, byStaff: byStaff, at: now, in: transaction)
        }
    }

    /// Deletes what the player of an erased person had before it was linked.
    fileprivate static func removeOwn(of player: Player, in transaction: any Transaction) throws {
        for row in try transaction.rows(idsOfSubjectOnDevice, [.text(player.id), .text("player:\(player.id)")]) {
            try delete(try row.text(0), in: transaction)
        }
        try transaction.run(clearRedemptions, [.text(player.id)])
    }

    /// Deletes the licenses of a player that is deleted.
    fileprivate static func removeAll(of player: Player, in transaction: any Transaction) throws {
        for row in try transaction.rows(idsOfDevice, [.text(player.id)]) { try delete(try row.text(0), in: transaction) }
    }
}

extension LicenseStore.Issued {
    /// Whether a device may keep it now. A stream's lease ends soon.
    func isKept(at now: Instant) -> Bool { terms.isStorable && terms.notAfter.map { now < $0 } ?? true }
}
