// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHome
import CarrelStore

/// Players, their certificates, revocations, and the keys of the certificate authority, which a restore carries over.
enum CarriedPlayers {
    static let keyPage = SQL("SELECT * FROM pki_keys WHERE id > $1 ORDER BY id LIMIT $2")
    static let ownKey = SQL("SELECT * FROM pki_keys WHERE id = $1")
    static let mergeKey = SQL(
        """
        INSERT INTO pki_keys VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (id) DO UPDATE SET valid_until = excluded.valid_until, certificate = excluded.certificate,
            rollover = excluded.rollover, master_version = excluded.master_version, wrapped = excluded.wrapped
        """
    )
    static let documentPage = SQL("SELECT * FROM pki_documents WHERE number > $1 ORDER BY number LIMIT $2")
    static let ownDocument = SQL("SELECT * FROM pki_documents WHERE number = $1")
    static let mergeDocument = SQL("INSERT INTO pki_documents VALUES ($1, $2, $3, $4) ON CONFLICT (number) DO NOTHING")
    static let playerPage = SQL("SELECT * FROM players WHERE id > $1 ORDER BY id LIMIT $2")
    static let ownPlayer = SQL("SELECT * FROM players WHERE id = $1")
    static let rival = SQL(
        "SELECT id FROM players WHERE (sign_key = $1 OR agree_key = $2 OR fingerprint = $3) AND id <> $4 LIMIT 1"
    )
    static let mergePlayer = SQL(
        """
        INSERT INTO players VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
            $22, $23)
        ON CONFLICT (id) DO UPDATE SET level = excluded.level, app = excluded.app, build = excluded.build, name = excluded.name,
            account_id = excluded.account_id, device_id = excluded.device_id, link_expires_at = excluded.link_expires_at,
            seen_at = excluded.seen_at, expires_at = excluded.expires_at, suspended_at = excluded.suspended_at,
            suspended_by = excluded.suspended_by, revoked_at = excluded.revoked_at, licensed_until = excluded.licensed_until,
            list_version = excluded.list_version, revoked_by = excluded.revoked_by, link_family = excluded.link_family,
            licensed_at = excluded.licensed_at
        """
    )
    /// The players that are not revoked, of a revoked player's key.
    static let holders = SQL("SELECT id FROM players WHERE (sign_key = $1 OR agree_key = $1) AND revoked_at IS NULL")
    static let hasDevice = SQL("SELECT 1 FROM devices WHERE id = $1")
    static let certificatePage = SQL("SELECT * FROM player_certificates WHERE serial > $1 ORDER BY serial LIMIT $2")
    static let ownCertificate = SQL("SELECT * FROM player_certificates WHERE serial = $1")
    static let mergeCertificate = SQL("INSERT INTO player_certificates VALUES ($1, $2, $3, $4, $5)")
    static let noncePage = SQL("SELECT * FROM player_nonces WHERE nonce > $1 ORDER BY nonce LIMIT $2")
    static let ownNonce = SQL("SELECT * FROM player_nonces WHERE nonce = $1")
    static let mergeNonce = SQL("INSERT INTO player_nonces VALUES ($1, $2)")
    static let rightPage = SQL("SELECT * FROM revoked_rights WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3")
    static let ownRight = SQL("SELECT * FROM revoked_rights WHERE kind = $1 AND id = $2")
    static let mergeRight = SQL(
        """
        INSERT INTO revoked_rights VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kind, id) DO UPDATE SET until = excluded.until,
            by_staff = CASE WHEN excluded.by_staff > revoked_rights.by_staff THEN excluded.by_staff
                ELSE revoked_rights.by_staff END,
            suspended_for = excluded.suspended_for
        """
    )

    static let guestPage = SQL("SELECT * FROM guests WHERE player_id > $1 ORDER BY player_id LIMIT $2")
    static let ownGuest = SQL("SELECT * FROM guests WHERE player_id = $1")
    static let mergeGuest = SQL("INSERT INTO guests VALUES ($1, $2, $3, $4)")

    static let statements = [
        guestPage, ownGuest, mergeGuest,
        keyPage, ownKey, mergeKey, documentPage, ownDocument, mergeDocument, playerPage, ownPlayer, rival, mergePlayer, holders,
        hasDevice,
        certificatePage, ownCertificate, mergeCertificate, noncePage, ownNonce, mergeNonce, rightPage, ownRight, mergeRight,
    ]

    static let tables = [keys, players, rights, certificates, guests, documents, nonces]

    private static let keys = CarriedTable(
        "pki_keys",
        page: keyPage,
        own: ownKey,
        merge: mergeKey,
        start: [""],
        columns: 9
    ) { row, _ in [row[1] == .text(Authority.Use.devices) ? "authorities" : "keys"] }

    private static let documents = CarriedTable(
        "pki_documents",
        page: documentPage,
        own: ownDocument,
        merge: mergeDocument,
        start: [.integer(.min)],
        columns: 4,
        names: { _, _ in [] },
        adapt: { row, own, _ in own == nil ? row : nil }
    )

    private static let players = CarriedTable(
        "players",
        page: playerPage,
        own: ownPlayer,
        merge: mergePlayer,
        start: [""],
        columns: 23,
        names: { row, own in ["players"] + (!row.isNull(17) && own?.isNull(17) ?? true ? ["revocations"] : []) },
        adapt: adaptPlayer
    )

    /// Adapts a player of the replaced database to the restored one. Its account and its device may be newer than the backup, and
    /// a suspension of the account is restored with the account.
    private static func adaptPlayer(_ row: Row, _ own: Row?, _ transaction: any Transaction) throws -> Row? {
        if let rival = try transaction.row(rival, [row[1], row[2], row[4], row[0]]) {
            // The same keys are another player in the backup: a revocation counts for it too.
            if !row.isNull(17), try transaction.run(PlayerStore.revoke, [rival[0], row[17], row[20]]) > 0 {
                let byStaff = try row.textIfPresent(20) == "staff"
                let time = try row.instant(17)
                try RevokedRight.player.revoke(rival.text(0), until: nil, byStaff: byStaff, at: time, in: transaction)
            }
            return nil
        }
        var values = row.values
        let account = try row.textIfPresent(9).flatMap { try Accounts.find(id: $0, in: transaction) }
        let hasDevice = try !row.isNull(10) && transaction.row(hasDevice, [row[10]]) != nil
        if account == nil { values[9] = .null }
        if account == nil || !hasDevice { values[10] = .null }
        if account == nil { (values[11], values[21]) = (.null, .null) }
        if try row.textIfPresent(16) != Player.Suspension.staff.rawValue {
            let isSuspended = account?.isSuspended ?? false
            values[15] = isSuspended ? own.flatMap { $0.isNull(15) ? nil : $0[15] } ?? row[13] : .null
            values[16] = isSuspended ? .text(Player.Suspension.account.rawValue) : .null
        }
        // What the backup knows as revoked stays so.
        if values[17] == .null, let own { (values[17], values[20]) = (own[17], own[20]) }
        let merged = Row(values)
        if !isGuest(merged) { try transaction.run(GuestStore.remove, [row[0]]) }
        return merged
    }

    /// Whether a player may give way to others: it has no account and no license, and is neither suspended nor revoked.
    private static func isGuest(_ player: Row) -> Bool { [9, 15, 17, 22].allSatisfy(player.isNull) }

    private static let guests = CarriedTable(
        "guests",
        page: guestPage,
        own: ownGuest,
        merge: mergeGuest,
        start: [""],
        columns: 4,
        names: { _, _ in [] },
        adapt: { row, own, transaction in
            guard own == nil, let player = try transaction.row(ownPlayer, [row[0]]), isGuest(player) else { return nil }
            return row
        }
    )

    private static let certificates = CarriedTable(
        "player_certificates",
        page: certificatePage,
        own: ownCertificate,
        merge: mergeCertificate,
        start: [""],
        columns: 5,
        names: { _, _ in ["certificates"] },
        adapt: { row, own, transaction in
            guard own == nil, try transaction.row(ownPlayer, [row[2]]) != nil else { return nil }
            return row
        }
    )

    private static let nonces = CarriedTable(
        "player_nonces",
        page: noncePage,
        own: ownNonce,
        merge: mergeNonce,
        start: [.blob([])],
        columns: 2,
        names: { _, _ in [] },
        adapt: { row, own, _ in own == nil ? row : nil }
    )

    private static let rights = CarriedTable(
        "revoked_rights",
        page: rightPage,
        own: ownRight,
        merge: mergeRight,
        start: ["", ""],
        columns: 6,
        names: { _, _ in ["revocations"] },
        adapt: { row, own, transaction in
            if row.isNull(5) { try revokePlayers(of: row, in: transaction) }
            var values = row.values
            // An entry for good stays so; one for a suspension lasts as long as the account's suspension in the backup.
            if let own, own.isNull(5) { values[5] = .null }
            guard let id = values[5] == .null ? nil : try row.textIfPresent(5) else { return Row(values) }
            return try Accounts.find(id: id, in: transaction)?.isSuspended == true ? Row(values) : nil
        }
    )

    /// Revokes the players of the backup that an entry names, by their id or by a key: the replaced database may have deleted them since.
    private static func revokePlayers(of right: Row, in transaction: any Transaction) throws {
        let players: [SQLValue]
        switch try right.text(0) {
        case "player": players = [right[1]]
        case "key": players = try transaction.rows(holders, [right[1]]).map { $0[0] }
        default: return
        }
        let (byStaff, time) = (try right.integer(4) == 1, try right.instant(2))
        for player in players where try transaction.run(PlayerStore.revoke, [player, right[2], byStaff ? "staff" : "reader"]) > 0
        {
            guard case .text(let id) = player else { continue }
            try RevokedRight.player.revoke(id, until: nil, byStaff: byStaff, at: time, in: transaction)
            try transaction.run(GuestStore.remove, [player])
        }
    }
}
