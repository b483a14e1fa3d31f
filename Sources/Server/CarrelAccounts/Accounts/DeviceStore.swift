// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelStore

/// The SQL of devices.
package enum DeviceStore {
    static let insert = SQL(
        """
        INSERT INTO devices (id, account_id, key_hash, name, created_at, seen_at, taken_at)
        VALUES ($1, $2, $3, $4, $5, $5, $5)
        """
    )
    static let byKey = SQL(
        """
        SELECT id, account_id, name, created_at, seen_at, freed_at, taken_at, departures, departed_at, given_name FROM devices
        WHERE account_id = $1 AND key_hash = $2
        """
    )
    static let byAccount = SQL(
        """
        SELECT id, account_id, name, created_at, seen_at, freed_at, taken_at, departures, departed_at, given_name FROM devices
        WHERE account_id = $1 ORDER BY created_at, id
        """
    )
    static let byID = SQL(
        """
        SELECT id, account_id, name, created_at, seen_at, freed_at, taken_at, departures, departed_at, given_name FROM devices
        WHERE id = $1
        """
    )
    static let take = SQL(
        """
        UPDATE devices SET seen_at = $2, name = $3, freed_at = NULL, taken_at = $4, departures = $5, departed_at = $6
        WHERE id = $1
        """
    )
    static let rename = SQL("UPDATE devices SET given_name = $2 WHERE id = $1")
    static let free = SQL("UPDATE devices SET freed_at = $2 WHERE id = $1 AND freed_at IS NULL")
    /// Frees a slot without counting a departure: ``Device/wasFreedByStaff``.
    static let freeForStaff = SQL(
        """
        UPDATE devices SET freed_at = COALESCE(freed_at, $2), departures = 0, departed_at = COALESCE(freed_at, $2) WHERE id = $1
        """
    )
    static let freeAllForStaff = SQL(
        """
        UPDATE devices SET freed_at = COALESCE(freed_at, $2), departures = 0, departed_at = COALESCE(freed_at, $2)
        WHERE account_id = $1
        """
    )
    static let freeAll = SQL("UPDATE devices SET freed_at = $2 WHERE account_id = $1 AND freed_at IS NULL AND id <> $3")
    /// A session that was left alone ended long after its device signed in.
    static let freeUnused = SQL(
        """
        UPDATE devices SET freed_at = seen_at
        WHERE account_id = $1 AND freed_at IS NULL AND (held_until IS NULL OR held_until <= $2) AND NOT EXISTS (
            SELECT 1 FROM sessions
            WHERE sessions.device_id = devices.id AND sessions.expires_at > $2 AND sessions.seen_at > $3)
        """
    )

    /// Frees a slot that no player holds.
    static let freeUnheld = SQL(
        "UPDATE devices SET freed_at = $2 WHERE id = $1 AND freed_at IS NULL AND (held_until IS NULL OR held_until <= $2)"
    )
    /// Frees a slot that no session uses.
    static let freeSessionless = SQL(
        """
        UPDATE devices SET freed_at = $2 WHERE id = $1 AND freed_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM sessions WHERE sessions.device_id = devices.id AND sessions.expires_at > $2)
        """
    )
    static let freeAllUnheldForStaff = SQL(
        """
        UPDATE devices SET freed_at = COALESCE(freed_at, $2), departures = 0, departed_at = COALESCE(freed_at, $2)
        WHERE account_id = $1 AND (held_until IS NULL OR held_until <= $2)
        """
    )
    static let hold = SQL("UPDATE devices SET held_until = $2 WHERE id = $1")

    package static let statements = [
        hold, freeUnheld, freeSessionless, freeAllUnheldForStaff, insert, byKey, byAccount, byID, take, rename, free,
        freeForStaff,
        freeAllForStaff, freeAll, freeUnused,
    ]

    static func insert(_ device: Device, keyHash: [UInt8], in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(device.id), .text(device.accountID), .blob(keyHash), .text(device.appName), .instant(device.createdAt),
        ]
        _ = try transaction.run(insert, values)
    }

    static func device(keyHash: [UInt8], of account: String, in transaction: any Transaction) throws -> Device? {
        try transaction.row(byKey, [.text(account), .blob(keyHash)]).map(device)
    }

    static func device(id: String, in transaction: any Transaction) throws -> Device? {
        try transaction.row(byID, [.text(id)]).map(device)
    }

    package static func devices(of account: String, in transaction: any Transaction) throws -> [Device] {
        try transaction.rows(byAccount, [.text(account)]).map(device)
    }

    /// Gives a known device a slot, or keeps it.
    static func take(_ device: Device, name: String, at now: Instant, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(device.id), .instant(now), .text(name), .instant(device.takenAt), .integer(Int64(device.departures)),
            .instant(device.departedAt),
        ]
        _ = try transaction.run(take, values)
    }

    /// Calls a device what people call it; nil for what its app says.
    static func rename(_ id: String, to name: String?, in transaction: any Transaction) throws {
        _ = try transaction.run(rename, [.text(id), SQLValue(name)])
    }

    static func hold(_ id: String, until instant: Instant?, in transaction: any Transaction) throws {
        _ = try transaction.run(hold, [.text(id), .instant(instant)])
    }

    /// Frees a slot, unless a player holds it: signing out does not end a player.
    static func freeUnheld(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeUnheld, [.text(id), .instant(now)])
    }

    /// Frees a slot, unless a session uses it: the end of a player does not sign its reader out.
    static func freeSessionless(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeSessionless, [.text(id), .instant(now)])
    }

    /// Frees the devices of an account that no player holds, without counting departures.
    static func freeAllUnheldForStaff(of account: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeAllUnheldForStaff, [.text(account), .instant(now)])
    }

    static func free(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(free, [.text(id), .instant(now)])
    }

    /// Frees a device's slot, and deletes its departures.
    static func freeForStaff(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeForStaff, [.text(id), .instant(now)])
    }

    /// Frees all devices of an account.
    static func freeAllForStaff(of account: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeAllForStaff, [.text(account), .instant(now)])
    }

    static func freeAll(of account: String, butFor id: String?, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeAll, [.text(account), .instant(now), .text(id ?? "")])
    }

    /// Frees the slots of devices without a session.
    static func freeUnused(of account: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(freeUnused, [.text(account), .instant(now), .instant(now - Session.idleLife)])
    }

    private static func device(_ row: Row) throws -> Device {
        var device = Device(
            id: try row.text(0),
            accountID: try row.text(1),
            name: try row.text(2),
            createdAt: try row.instant(3),
            seenAt: try row.instant(4),
            freedAt: try row.instantIfPresent(5)
        )
        if let taken = try row.instantIfPresent(6) { device.takenAt = taken }
        (device.departures, device.departedAt) = (Int(try row.integer(7)), try row.instantIfPresent(8))
        device.givenName = try row.textIfPresent(9)
        return device
    }
}
