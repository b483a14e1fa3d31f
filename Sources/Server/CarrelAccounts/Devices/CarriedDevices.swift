// SPDX-License-Identifier: Apache-2.0

import CarrelHome
import CarrelStore

/// Device slots that a restore carries over: players of accounts have one, and freed slots stay free.
enum CarriedDevices {
    static let page = SQL("SELECT * FROM devices WHERE id > $1 ORDER BY id LIMIT $2")
    static let own = SQL("SELECT * FROM devices WHERE id = $1")
    static let sameKey = SQL("SELECT 1 FROM devices WHERE account_id = $1 AND key_hash = $2 AND id <> $3")
    static let merge = SQL(
        """
        INSERT INTO devices VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, freed_at = excluded.freed_at, held_until = excluded.held_until
        """
    )

    static let statements = [page, own, sameKey, merge]

    static let table = CarriedTable(
        "devices",
        page: page,
        own: own,
        merge: merge,
        start: [""],
        columns: 12,
        names: { _, _ in ["devices"] },
        adapt: { row, _, transaction in
            // The backup may lack the account, or have the slot under another id.
            guard try AccountStore.account(id: row.text(1), in: transaction) != nil,
                try transaction.row(sameKey, [row[1], row[2], row[0]]) == nil
            else { return nil }
            return row
        }
    )
}
