// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelStore
import CarrelVault

/// The SQL of players, their certificates, and revocations.
package enum PlayerStore {
    static let insert = SQL(
        """
        INSERT INTO players (id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id,
            link_expires_at, created_at, seen_at, expires_at, link_family)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15)
        """
    )
    static let bySigningKey = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at, licensed_until,
            list_version, link_family, licensed_at FROM players WHERE sign_key = $1
        """
    )
    static let byID = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at, licensed_until,
            list_version, link_family, licensed_at FROM players WHERE id = $1
        """
    )
    static let byAccount = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at, licensed_until,
            list_version, link_family, licensed_at FROM players WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let page = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at, licensed_until,
            list_version, link_family, licensed_at FROM players
        WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3
        """
    )
    static let isTaken = SQL(
        "SELECT 1 FROM players WHERE sign_key = $1 OR sign_key = $2 OR agree_key = $1 OR agree_key = $2 LIMIT 1"
    )
    static let holdsDevice = SQL("SELECT 1 FROM players WHERE device_id = $1 AND id <> $2 AND revoked_at IS NULL LIMIT 1")
    static let hasFingerprint = SQL("SELECT 1 FROM players WHERE fingerprint = $1")
    static let renew = SQL(
        "UPDATE players SET level = $2, app = $3, build = $4, name = $5, seen_at = $6, expires_at = $7 WHERE id = $1"
    )
    static let link = SQL(
        "UPDATE players SET account_id = $2, device_id = $3, link_expires_at = $4, link_family = $5 WHERE id = $1"
    )
    static let suspend = SQL(
        """
        UPDATE players SET suspended_at = COALESCE(suspended_at, $2), suspended_by = $3
        WHERE id = $1 AND (suspended_by IS NULL OR suspended_by <> $3)
        """
    )
    static let resume = SQL(
        """
        UPDATE players SET suspended_at = NULL, suspended_by = NULL WHERE id = $1 AND suspended_by = 'staff' AND NOT EXISTS (
            SELECT 1 FROM accounts WHERE accounts.id = players.account_id AND accounts.suspended_at IS NOT NULL)
        """
    )
    static let suspendAll = SQL(
        "UPDATE players SET suspended_at = $2, suspended_by = 'account' WHERE account_id = $1 AND suspended_at IS NULL"
    )
    static let resumeAll = SQL(
        """
        UPDATE players SET suspended_at = NULL, suspended_by = NULL WHERE account_id = $1 AND suspended_by = 'account'
        """
    )
    static let revoke = SQL("UPDATE players SET revoked_at = $2, revoked_by = $3 WHERE id = $1 AND revoked_at IS NULL")
    static let erase = SQL(
        """
        UPDATE players SET revoked_at = COALESCE(revoked_at, $2), account_id = NULL, device_id = NULL, link_expires_at = NULL,
            link_family = NULL, name = ''
        WHERE account_id = $1
        """
    )
    /// Players that are no longer needed: neither suspended, nor of an account that may keep a license.
    static let expired = SQL(
        """
        SELECT id FROM players
        WHERE expires_at <= $1 AND (revoked_at IS NOT NULL OR (suspended_at IS NULL
            AND (account_id IS NULL OR licensed_until IS NULL OR licensed_until <= $1)))
        ORDER BY expires_at LIMIT $2
        """
    )
    static let remove = SQL("DELETE FROM players WHERE id = $1")
    static let recordLicense = SQL("UPDATE players SET licensed_at = $2 WHERE id = $1 AND licensed_at IS NULL")
    static let unlist = SQL(
        """
        DELETE FROM player_certificates WHERE player_id IN (
            SELECT id FROM players WHERE account_id = $1 AND revoked_at = $2 AND licensed_at IS NULL)
        """
    )
    /// A player that its reader removed, and that never got a license: its keys open nothing.
    static let leavesNothing = SQL(
        "SELECT 1 FROM players WHERE id = $1 AND revoked_by = 'reader' AND licensed_at IS NULL"
    )
    static let isListed = SQL(
        "SELECT 1 FROM players WHERE account_id = $1 AND revoked_at = $2 AND licensed_at IS NOT NULL LIMIT 1"
    )
    static let insertCertificate = SQL(
        "INSERT INTO player_certificates (serial, player_id, valid_until, certificate, thumbprint) VALUES ($1, $2, $3, $4, $5)"
    )
    static let newestCertificate = SQL(
        "SELECT certificate FROM player_certificates WHERE player_id = $1 ORDER BY valid_until DESC LIMIT 1"
    )
    static let byThumbprint = SQL(
        "SELECT player_id, certificate FROM player_certificates WHERE thumbprint = $1 AND valid_until > $2"
    )
    static let removeCertificates = SQL("DELETE FROM player_certificates WHERE player_id = $1")
    /// The newest certificate of a player stays as long as the player: its serial number is listed while the player is suspended.
    static let expiredCertificates = SQL(
        """
        SELECT serial FROM player_certificates c
        WHERE valid_until <= $1 AND NOT EXISTS (
            SELECT 1 FROM players p
            WHERE p.id = c.player_id AND (p.suspended_at IS NOT NULL OR p.expires_at = c.valid_until))
        ORDER BY valid_until LIMIT $2
        """
    )
    static let removeCertificate = SQL("DELETE FROM player_certificates WHERE serial = $1")
    static let useNonce = SQL("INSERT INTO player_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING")
    static let expiredNonces = SQL("SELECT nonce FROM player_nonces WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2")
    static let removeNonce = SQL("DELETE FROM player_nonces WHERE nonce = $1")
    package static let statements =
        [
            insert, bySigningKey, byID, byAccount, page, isTaken, holdsDevice, hasFingerprint, renew, link,
            suspend, resume, suspendAll, resumeAll, revoke, erase, expired, remove, insertCertificate, newestCertificate,
            removeCertificates, byThumbprint, expiredCertificates, removeCertificate, useNonce, expiredNonces, removeNonce,
            recordLicense, unlist, isListed, leavesNothing,
        ] + statementsOfRevocations

    static func insert(_ player: Player, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(player.id), .text(player.signingKey), .text(player.agreementKey), .blob(player.agreementPoint),
            .blob(player.fingerprint), .text(player.level.rawValue), .text(player.app), .text(player.build), .text(player.name),
            SQLValue(player.account), SQLValue(player.device), .instant(player.linkExpiresAt), .instant(player.createdAt),
            .instant(player.expiresAt), SQLValue(player.family),
        ]
        try transaction.run(insert, values)
    }

    /// A player by the thumbprint of its signing key.
    static func player(signingKey: String, in transaction: any Transaction) throws -> Player? {
        try transaction.row(bySigningKey, [.text(signingKey)]).map(player)
    }

    static func player(id: String, in transaction: any Transaction) throws -> Player? {
        try transaction.row(byID, [.text(id)]).map(player)
    }

    static func players(of account: String, in transaction: any Transaction) throws -> [Player] {
        try transaction.rows(byAccount, [.text(account)]).map(player)
    }

    static func players(after: (Instant, String)?, limit: Int, in transaction: any Transaction) throws -> [Player] {
        try transaction.rows(
            page,
            [.instant(after?.0 ?? Instant(milliseconds: .min / 2)), .text(after?.1 ?? ""), .integer(Int64(limit))]
        ).map(player)
    }

    /// Whether a key of these thumbprints belongs to a player, for either use.
    static func isTaken(_ first: String, _ second: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(isTaken, [.text(first), .text(second)]) != nil
    }

    /// Whether another player that is not revoked has the device's slot.
    static func isHeld(device: String, byOtherThan player: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(holdsDevice, [.text(device), .text(player)]) != nil
    }

    static func hasFingerprint(_ fingerprint: [UInt8], in transaction: any Transaction) throws -> Bool {
        try transaction.row(hasFingerprint, [.blob(fingerprint)]) != nil
    }

    static func renew(_ player: Player, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(player.id), .text(player.level.rawValue), .text(player.app), .text(player.build), .text(player.name),
            .instant(player.seenAt), .instant(player.expiresAt),
        ]
        try transaction.run(renew, values)
    }

    /// Stores a player's current link.
    static func link(_ player: Player, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(player.id), SQLValue(player.account), SQLValue(player.device), .instant(player.linkExpiresAt),
            SQLValue(player.family),
        ]
        try transaction.run(link, values)
        if player.account != nil { try GuestStore.remove(player.id, in: transaction) }
    }

    /// Whether the player was active so far.
    static func suspend(_ id: String, by: Player.Suspension, at now: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(suspend, [.text(id), .instant(now), .text(by.rawValue)]) > 0
    }

    static func resume(_ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.run(resume, [.text(id)]) > 0
    }

    static func suspendAll(of account: String, at now: Instant, in transaction: any Transaction) throws -> Int {
        try transaction.run(suspendAll, [.text(account), .instant(now)])
    }

    static func resumeAll(of account: String, in transaction: any Transaction) throws -> Int {
        try transaction.run(resumeAll, [.text(account)])
    }

    /// Revokes a player; whether it was not revoked before.
    static func revoke(_ id: String, byStaff: Bool, at now: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(revoke, [.text(id), .instant(now), .text(byStaff ? "staff" : "reader")]) > 0
    }

    static func erase(_ account: String, at now: Instant, in transaction: any Transaction) throws -> Int {
        try transaction.run(erase, [.text(account), .instant(now)])
    }

    /// The players whose certificates ended before a time, and that nothing needs any longer.
    static func expired(before now: Instant, limit: Int, in transaction: any Transaction) throws -> [String] {
        try transaction.rows(expired, [.instant(now), .integer(Int64(limit))]).map { try $0.text(0) }
    }

    /// Deletes a player, its certificates, and its place among the guests.
    static func remove(_ id: String, in transaction: any Transaction) throws {
        try GuestStore.remove(id, in: transaction)
        try transaction.run(removeCertificates, [.text(id)])
        try transaction.run(remove, [.text(id)])
    }

    /// Records the first license of a player, which is a guest no longer.
    static func recordLicense(of id: String, at now: Instant, in transaction: any Transaction) throws {
        try transaction.run(recordLicense, [.text(id), .instant(now)])
        try GuestStore.remove(id, in: transaction)
    }

    /// Deletes the certificates of a player that never got a license, so that no list names it: it has nothing to revoke.
    static func unlist(_ id: String, in transaction: any Transaction) throws {
        try transaction.run(removeCertificates, [.text(id)])
    }

    /// Removes the players of an account that were revoked at a time, and never received a license, from the revocation list.
    ///
    /// - Returns: whether the list names any player revoked at that time.
    static func unlist(of account: String, revokedAt now: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(unlist, [.text(account), .instant(now)])
        return try transaction.row(isListed, [.text(account), .instant(now)]) != nil
    }

    static func removeCertificates(before now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let serials = try transaction.rows(expiredCertificates, [.instant(now), .integer(Int64(limit))]).map { try $0.text(0) }
        for serial in serials { try transaction.run(removeCertificate, [.text(serial)]) }
        return serials.count
    }

    static func insertCertificate(
        _ serial: String,
        _ certificate: [UInt8],
        thumbprint: [UInt8],
        of player: String,
        until end: Instant,
        in transaction: any Transaction
    ) throws {
        try transaction.run(
            insertCertificate,
            [.text(serial), .text(player), .instant(end), .blob(certificate), .blob(thumbprint)]
        )
    }

    static func certificate(of player: String, in transaction: any Transaction) throws -> [UInt8]? {
        try transaction.row(newestCertificate, [.text(player)]).map { try $0.blob(0) }
    }

    /// A player by the digest of one of its certificates that has not expired, and that certificate in DER.
    static func player(
        thumbprint: [UInt8],
        at now: Instant,
        in transaction: any Transaction
    ) throws -> (player: Player, certificate: [UInt8])? {
        guard let row = try transaction.row(byThumbprint, [.blob(thumbprint), .instant(now)]),
            let player = try player(id: try row.text(0), in: transaction)
        else { return nil }
        return (player, try row.blob(1))
    }

    /// Whether the nonce was not used before.
    static func use(nonce: [UInt8], until end: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(useNonce, [.blob(nonce), .instant(end)]) > 0
    }

    static func removeNonces(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let nonces = try transaction.rows(expiredNonces, [.instant(now), .integer(Int64(limit))]).map { try $0.blob(0) }
        for nonce in nonces { try transaction.run(removeNonce, [.blob(nonce)]) }
        return nonces.count
    }

    private static func player(_ row: Row) throws -> Player {
        Player(
            id: try row.text(0),
            signingKey: try row.text(1),
            agreementKey: try row.text(2),
            agreementPoint: try row.blob(3),
            fingerprint: try row.blob(4),
            level: VaultLevel(rawValue: try row.text(5)) ?? .none,
            app: try row.text(6),
            build: try row.text(7),
            name: try row.text(8),
            account: try row.textIfPresent(9),
            device: try row.textIfPresent(10),
            linkExpiresAt: try row.instantIfPresent(11),
            createdAt: try row.instant(12),
            seenAt: try row.instant(13),
            expiresAt: try row.instant(14),
            suspendedAt: try row.instantIfPresent(15),
            suspendedBy: try row.textIfPresent(16).flatMap { Player.Suspension(rawValue: $0) },
            revokedAt: try row.instantIfPresent(17),
            licensedUntil: try row.instantIfPresent(18),
            listVersion: Int(try row.integer(19)),
            family: try row.textIfPresent(20),
            licensedAt: try row.instantIfPresent(21)
        )
    }
}
