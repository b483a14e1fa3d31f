package import CarrelBytes
package import CarrelStore
import CarrelVault

/// The SQL of players, their certificates, and what is revoked.
package enum PlayerStore {
    static let insert = SQL(
        """
        INSERT INTO players (id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id,
            link_expires_at, created_at, seen_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14)
        """
    )
    static let bySigningKey = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at FROM players WHERE sign_key = $1
        """
    )
    static let byID = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at FROM players WHERE id = $1
        """
    )
    static let byAccount = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at FROM players WHERE account_id = $1
        ORDER BY created_at, id
        """
    )
    static let page = SQL(
        """
        SELECT id, sign_key, agree_key, agree_point, fingerprint, level, app, build, name, account_id, device_id, link_expires_at,
            created_at, seen_at, expires_at, suspended_at, suspended_by, revoked_at FROM players
        WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3
        """
    )
    static let isTaken = SQL(
        "SELECT 1 FROM players WHERE sign_key = $1 OR sign_key = $2 OR agree_key = $1 OR agree_key = $2 LIMIT 1"
    )
    static let holdsDevice = SQL("SELECT 1 FROM players WHERE device_id = $1 AND id <> $2 AND revoked_at IS NULL LIMIT 1")
    static let hasFingerprint = SQL("SELECT 1 FROM players WHERE fingerprint = $1")
    static let unlinkedCount = SQL("SELECT COUNT(*) FROM players WHERE account_id IS NULL")
    static let renew = SQL(
        "UPDATE players SET level = $2, app = $3, build = $4, name = $5, seen_at = $6, expires_at = $7 WHERE id = $1"
    )
    static let link = SQL("UPDATE players SET account_id = $2, device_id = $3, link_expires_at = $4 WHERE id = $1")
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
    static let revoke = SQL("UPDATE players SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
    /// Those of an account whose device lost its slot.
    static let revokeFreed = SQL(
        """
        UPDATE players SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL AND device_id IN (
            SELECT id FROM devices WHERE account_id = $1 AND freed_at IS NOT NULL)
        """
    )
    static let revokeAll = SQL("UPDATE players SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL")
    static let erase = SQL(
        """
        UPDATE players SET revoked_at = COALESCE(revoked_at, $2), account_id = NULL, device_id = NULL, link_expires_at = NULL, name = ''
        WHERE account_id = $1
        """
    )
    static let expired = SQL(
        "SELECT id FROM players WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2"
    )
    static let remove = SQL("DELETE FROM players WHERE id = $1")
    static let insertCertificate = SQL(
        "INSERT INTO player_certificates (serial, player_id, valid_until, certificate, thumbprint) VALUES ($1, $2, $3, $4, $5)"
    )
    static let newestCertificate = SQL(
        "SELECT certificate FROM player_certificates WHERE player_id = $1 ORDER BY valid_until DESC LIMIT 1"
    )
    static let byThumbprint = SQL(
        "SELECT player_id, certificate FROM player_certificates WHERE thumbprint = $1 AND valid_until > $2"
    )
    static let revokeRight = SQL(
        "INSERT INTO revoked_rights (kind, id, revoked_at, until) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, id) DO NOTHING"
    )
    static let expiredRights = SQL("SELECT kind, id FROM revoked_rights WHERE until <= $1 ORDER BY until LIMIT $2")
    static let removeRight = SQL("DELETE FROM revoked_rights WHERE kind = $1 AND id = $2")
    static let removeCertificates = SQL("DELETE FROM player_certificates WHERE player_id = $1")
    static let expiredCertificates = SQL(
        "SELECT serial FROM player_certificates WHERE valid_until <= $1 ORDER BY valid_until LIMIT $2"
    )
    static let removeCertificate = SQL("DELETE FROM player_certificates WHERE serial = $1")
    static let revokedSerials = SQL(
        """
        SELECT c.serial, COALESCE(p.revoked_at, p.suspended_at) FROM player_certificates c JOIN players p ON p.id = c.player_id
        WHERE c.valid_until > $1 AND (p.revoked_at IS NOT NULL OR p.suspended_at IS NOT NULL)
        ORDER BY COALESCE(p.revoked_at, p.suspended_at) DESC, c.serial LIMIT $2
        """
    )
    static let useNonce = SQL("INSERT INTO player_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING")
    static let expiredNonces = SQL("SELECT nonce FROM player_nonces WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2")
    static let removeNonce = SQL("DELETE FROM player_nonces WHERE nonce = $1")
    static let revokedRights = SQL("SELECT kind, id FROM revoked_rights ORDER BY revoked_at DESC, kind DESC, id DESC LIMIT $1")
    static let revokedRight = SQL("SELECT revoked_at FROM revoked_rights WHERE kind = $1 AND id = $2")
    static let number = SQL("SELECT number FROM rights_numbers WHERE name = $1")
    static let bump = SQL(
        """
        INSERT INTO rights_numbers (name, number) VALUES ($1, 1)
        ON CONFLICT (name) DO UPDATE SET number = rights_numbers.number + 1
        """
    )
    static let raise = SQL(
        """
        INSERT INTO rights_numbers (name, number) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET number = CASE WHEN rights_numbers.number < $2 THEN $2 ELSE rights_numbers.number END
        """
    )

    package static let statements = [
        insert, bySigningKey, byID, byAccount, page, isTaken, holdsDevice, hasFingerprint, unlinkedCount, renew, link, suspend,
        resume,
        suspendAll,
        resumeAll, revoke, revokeFreed, revokeAll, erase, expired, remove, insertCertificate, newestCertificate,
        removeCertificates,
        byThumbprint, revokeRight, expiredCertificates, removeCertificate,
        revokedSerials, useNonce, expiredNonces, removeNonce, revokedRights, revokedRight, number, bump, expiredRights,
        removeRight, raise,
    ]

    static func insert(_ player: Player, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(player.id), .text(player.signingKey), .text(player.agreementKey), .blob(player.agreementPoint),
            .blob(player.fingerprint), .text(player.level.rawValue), .text(player.app), .text(player.build), .text(player.name),
            SQLValue(player.account), SQLValue(player.device), .instant(player.linkExpiresAt), .instant(player.createdAt),
            .instant(player.expiresAt),
        ]
        try transaction.run(insert, values)
    }

    /// A player by the thumbprint of its signing key.
    package static func player(signingKey: String, in transaction: any Transaction) throws -> Player? {
        try transaction.row(bySigningKey, [.text(signingKey)]).map(player)
    }

    package static func player(id: String, in transaction: any Transaction) throws -> Player? {
        try transaction.row(byID, [.text(id)]).map(player)
    }

    package static func players(of account: String, in transaction: any Transaction) throws -> [Player] {
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

    static func unlinkedCount(in transaction: any Transaction) throws -> Int {
        Int(try transaction.row(unlinkedCount)?.integer(0) ?? 0)
    }

    static func renew(_ player: Player, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(player.id), .text(player.level.rawValue), .text(player.app), .text(player.build), .text(player.name),
            .instant(player.seenAt), .instant(player.expiresAt),
        ]
        try transaction.run(renew, values)
    }

    static func link(_ id: String, to account: String?, device: String?, until end: Instant?, in transaction: any Transaction)
        throws
    {
        try transaction.run(link, [.text(id), SQLValue(account), SQLValue(device), .instant(end)])
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

    static func revoke(_ id: String, at now: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(revoke, [.text(id), .instant(now)]) > 0
    }

    static func revokeFreed(of account: String, at now: Instant, in transaction: any Transaction) throws -> Int {
        try transaction.run(revokeFreed, [.text(account), .instant(now)])
    }

    static func revokeAll(of account: String, at now: Instant, in transaction: any Transaction) throws -> Int {
        try transaction.run(revokeAll, [.text(account), .instant(now)])
    }

    static func erase(_ account: String, at now: Instant, in transaction: any Transaction) throws -> Int {
        try transaction.run(erase, [.text(account), .instant(now)])
    }

    /// Removes players whose certificates ended before a time.
    static func removeExpired(before now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let ids = try transaction.rows(expired, [.instant(now), .integer(Int64(limit))]).map { try $0.text(0) }
        for id in ids {
            try transaction.run(removeCertificates, [.text(id)])
            try transaction.run(remove, [.text(id)])
        }
        return ids.count
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
    package static func player(
        thumbprint: [UInt8],
        at now: Instant,
        in transaction: any Transaction
    ) throws -> (player: Player, certificate: [UInt8])? {
        guard let row = try transaction.row(byThumbprint, [.blob(thumbprint), .instant(now)]),
            let player = try player(id: try row.text(0), in: transaction)
        else { return nil }
        return (player, try row.blob(1))
    }

    /// Adds a license or a key to what is revoked.
    ///
    /// - Parameters:
    ///   - kind: `license` or `kid`.
    ///   - id: the id.
    ///   - end: the end of the license, after which it is in no list; nil where it has none.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Throws: the database's error.
    package static func revokeRight(
        _ kind: String,
        _ id: String,
        until end: Instant?,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [.text(kind), .text(id), .instant(now), .instant(end)]
        if try transaction.run(revokeRight, values) > 0 { try bumpRevocations(in: transaction) }
    }

    /// Whether a license or a key is in the list of what is revoked.
    package static func isRevoked(right kind: String, _ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(revokedRight, [.text(kind), .text(id)]) != nil
    }

    /// Removes licenses that ended for good before a time from what is revoked.
    static func removeRights(before instant: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let found = try transaction.rows(expiredRights, [.instant(instant), .integer(Int64(limit))])
        for row in found { try transaction.run(removeRight, [.text(try row.text(0)), .text(try row.text(1))]) }
        return found.count
    }

    /// Serial numbers of certificates that are revoked, the newest first.
    static func revokedSerials(at now: Instant, limit: Int, in transaction: any Transaction) throws -> [(
        serial: String, at: Instant
    )] {
        try transaction.rows(revokedSerials, [.instant(now), .integer(Int64(limit))]).map { (try $0.text(0), try $0.instant(1)) }
    }

    /// Whether the nonce was not used before.
    package static func use(nonce: [UInt8], until end: Instant, in transaction: any Transaction) throws -> Bool {
        try transaction.run(useNonce, [.blob(nonce), .instant(end)]) > 0
    }

    static func removeNonces(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let nonces = try transaction.rows(expiredNonces, [.instant(now), .integer(Int64(limit))]).map { try $0.blob(0) }
        for nonce in nonces { try transaction.run(removeNonce, [.blob(nonce)]) }
        return nonces.count
    }

    /// Licenses and keys that are revoked, the newest first.
    static func revokedRights(limit: Int, in transaction: any Transaction) throws -> [(kind: String, id: String)] {
        try transaction.rows(revokedRights, [.integer(Int64(limit))]).map { (try $0.text(0), try $0.text(1)) }
    }

    /// The certificates and rights of a list, which has a number of entries at most: the newest, certificates before rights.
    package static func revoked(
        at now: Instant,
        limit: Int,
        in transaction: any Transaction
    ) throws -> (serials: [(serial: String, at: Instant)], rights: [(kind: String, id: String)]) {
        let serials = try revokedSerials(at: now, limit: limit, in: transaction)
        return (serials, try revokedRights(limit: limit - serials.count, in: transaction))
    }

    /// The number of the list of what is revoked; 0 before the first.
    package static func revocationNumber(in transaction: any Transaction) throws -> Int64 {
        try number("revocations", in: transaction)
    }

    static func number(_ name: String, in transaction: any Transaction) throws -> Int64 {
        try transaction.row(number, [.text(name)]).map { try $0.integer(0) } ?? 0
    }

    /// Raises a number; a larger one stays.
    static func raise(_ name: String, to value: Int64, in transaction: any Transaction) throws {
        try transaction.run(raise, [.text(name), .integer(value)])
    }

    static func bumpRevocations(in transaction: any Transaction) throws { try transaction.run(bump, [.text("revocations")]) }

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
            revokedAt: try row.instantIfPresent(17)
        )
    }
}
