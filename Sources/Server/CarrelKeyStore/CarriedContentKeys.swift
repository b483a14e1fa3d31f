// SPDX-License-Identifier: Apache-2.0

import CarrelHome
import CarrelStore

/// Content keys, which a restore carries over: a key that was removed after the backup comes back, unless its id was revoked. ClearKey
/// may serve a key only if it may in both databases: a permission that was denied after the backup stays denied.
enum CarriedContentKeys {
    static let page = SQL("SELECT * FROM content_keys WHERE kid > $1 ORDER BY kid LIMIT $2")
    static let own = SQL("SELECT * FROM content_keys WHERE kid = $1")
    static let revoked = SQL(
        "SELECT kid FROM content_keys WHERE kid IN (SELECT id FROM revoked_rights WHERE kind = 'kid') ORDER BY kid"
    )
    static let merge = SQL(
        """
        INSERT INTO content_keys VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (kid) DO UPDATE SET clear_key = excluded.clear_key
        """
    )

    static let statements = [page, own, revoked, merge]

    static let table = CarriedTable(
        "content_keys",
        page: page,
        own: own,
        merge: merge,
        start: [""],
        columns: 7,
        removal: (revoked, ContentKeyStore.remove),
        names: { _, _ in ["contentKeys"] },
        adapt: { row, own, _ in
            guard let own else { return row }
            guard try row.integer(clearKey) < own.integer(clearKey) else { return nil }
            return Row(Array(own.values[..<clearKey]) + [row[clearKey]])
        }
    )

    /// The column that says whether ClearKey may serve the key, the last.
    private static let clearKey = 6
}
