// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// The SQL of the master keys' fingerprints.
package enum MasterKeyStore {
    static let all = SQL("SELECT version, fingerprint, activated_at FROM master_keys ORDER BY version")
    static let insert = SQL(
        """
        INSERT INTO master_keys (version, fingerprint, added_at, activated_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (version) DO NOTHING
        """
    )
    static let activate = SQL("UPDATE master_keys SET activated_at = $2 WHERE version = $1 AND activated_at IS NULL")
    static let forget = SQL("DELETE FROM master_keys WHERE version < $1")

    static let carriedPage = SQL("SELECT * FROM master_keys WHERE version > $1 ORDER BY version LIMIT $2")
    static let carriedOwn = SQL("SELECT * FROM master_keys WHERE version = $1")
    static let carry = SQL(
        """
        INSERT INTO master_keys VALUES ($1, $2, $3, $4)
        ON CONFLICT (version) DO UPDATE SET activated_at = COALESCE(master_keys.activated_at, excluded.activated_at)
        """
    )

    package static let statements = [all, insert, activate, forget, carriedPage, carriedOwn, carry]

    /// The fingerprints of the keys that carried rows are wrapped under.
    package static let carried = CarriedTable(
        "master_keys",
        page: carriedPage,
        own: carriedOwn,
        merge: carry,
        start: [.integer(.min)],
        columns: 4
    ) { _, _ in [] }

    package static func known(in transaction: any Transaction) throws -> MasterKeys {
        MasterKeys(
            try transaction.rows(all).map {
                MasterKeys.Known(
                    version: try $0.integer(0),
                    fingerprint: try $0.blob(1),
                    isActive: try $0.instantIfPresent(2) != nil
                )
            }
        )
    }

    /// Keeps a key's fingerprint, unless there is one of that version.
    package static func insert(_ known: MasterKeys.Known, at now: Instant, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .integer(known.version), .blob(known.fingerprint), .instant(now), known.isActive ? .instant(now) : .null,
        ]
        _ = try transaction.run(insert, values)
    }

    package static func activate(_ version: Int64, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(activate, [.integer(version), .instant(now)])
    }

    package static func forget(before version: Int64, in transaction: any Transaction) throws {
        _ = try transaction.run(forget, [.integer(version)])
    }
}
