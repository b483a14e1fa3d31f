// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension LicenseStore {
    static let migrations = [
        Migration(
            version: 1,
            name: "licenses of a player",
            statements: [
                // `name` is `key` (sealed by the vault), `clock` or `anchor` (rows)
                SQL("CREATE TABLE store (name TEXT PRIMARY KEY, value BLOB NOT NULL)"),
                SQL(
                    """
                    CREATE TABLE license (id TEXT PRIMARY KEY, sealed BLOB NOT NULL, priority BIGINT NOT NULL, expires BIGINT,
                    added BIGINT NOT NULL, tag BLOB NOT NULL)
                    """
                ),
                SQL("CREATE INDEX license_expires ON license (expires) WHERE expires IS NOT NULL"),
                SQL("CREATE INDEX license_tag ON license (tag, id)"),
                SQL(
                    "CREATE TABLE license_content (content BLOB NOT NULL, license TEXT NOT NULL, PRIMARY KEY (content, license))"
                ),
                SQL("CREATE INDEX license_content_license ON license_content (license)"),
                // the state of licenses that were removed; `until` as `expires`
                SQL("CREATE TABLE former_license (id TEXT PRIMARY KEY, sealed BLOB NOT NULL, until BIGINT)"),
                SQL("CREATE TABLE release (license TEXT PRIMARY KEY, sealed BLOB NOT NULL)"),
                SQL("CREATE TABLE link (portal_user BLOB PRIMARY KEY, sealed BLOB NOT NULL)"),
            ]
        )
    ]

    enum Statement {
        static let value = SQL("SELECT value FROM store WHERE name = $1")
        static let addValue = SQL("INSERT INTO store (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        static let setValue = SQL("UPDATE store SET value = $2 WHERE name = $1")

        static let license = SQL("SELECT id, sealed, priority, expires, added FROM license WHERE id = $1")
        static let ofContent = SQL(
            """
            SELECT id, sealed, priority, expires, added FROM license
            WHERE id IN (SELECT license FROM license_content WHERE content = $1)
            ORDER BY priority DESC, added DESC, id LIMIT $2
            """
        )
        static let page = SQL("SELECT id, sealed, priority, expires, added FROM license WHERE id > $1 ORDER BY id LIMIT $2")
        static let taggedPage = SQL(
            "SELECT id, sealed, priority, expires, added FROM license WHERE tag = $3 AND id > $1 ORDER BY id LIMIT $2"
        )
        static let put = SQL(
            """
            INSERT INTO license (id, sealed, priority, expires, added, tag) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, priority = excluded.priority, expires = excluded.expires,
            tag = excluded.tag
            """
        )
        static let addContent = SQL("INSERT INTO license_content (content, license) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        static let removeContents = SQL("DELETE FROM license_content WHERE license = $1")
        static let remove = SQL("DELETE FROM license WHERE id = $1")
        static let expired = SQL("SELECT id FROM license WHERE expires <= $1 ORDER BY id LIMIT $2")
        static let ids = SQL("SELECT id FROM license WHERE id > $1 ORDER BY id LIMIT $2")
        static let isUsed = SQL(
            "SELECT EXISTS (SELECT 1 FROM license) + EXISTS (SELECT 1 FROM former_license) + EXISTS (SELECT 1 FROM release)"
        )
        static let former = SQL("SELECT sealed FROM former_license WHERE id = $1")
        static let putFormer = SQL(
            """
            INSERT INTO former_license (id, sealed, until) VALUES ($1, $2, $3)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, until = excluded.until
            """
        )
        static let removeFormer = SQL("DELETE FROM former_license WHERE id = $1")
        static let forget = SQL("DELETE FROM former_license WHERE until <= $1")
        static let count = SQL("SELECT COUNT(*) FROM license")

        static let putLink = SQL(
            "INSERT INTO link (portal_user, sealed) VALUES ($1, $2) ON CONFLICT (portal_user) DO UPDATE SET sealed = excluded.sealed"
        )
        static let removeLink = SQL("DELETE FROM link WHERE portal_user = $1")
        static let links = SQL("SELECT portal_user, sealed FROM link LIMIT 1000")

        static let addRelease = SQL("INSERT INTO release (license, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        static let releases = SQL("SELECT license, sealed FROM release ORDER BY license LIMIT $1")
        static let removeRelease = SQL("DELETE FROM release WHERE license = $1")
    }
}
