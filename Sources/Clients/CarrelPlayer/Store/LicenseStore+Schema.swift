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
        ),
        Migration(
            version: 2,
            name: "keys of saved items",
            statements: [
                // `name` is `installation`, `journal`, `item ID` or `revoked ID`
                SQL("CREATE TABLE saved_secret (name TEXT PRIMARY KEY, sealed BLOB NOT NULL)"),
                // `secret` is the sealed key; null if `license` has it
                SQL(
                    """
                    CREATE TABLE saved_key (item TEXT NOT NULL, name BLOB NOT NULL, sealed BLOB NOT NULL, secret BLOB, license TEXT,
                    PRIMARY KEY (item, name))
                    """
                ),
                SQL("CREATE INDEX saved_key_license ON saved_key (license) WHERE license IS NOT NULL"),
                // licenses that are removed once the vault is open
                SQL("CREATE TABLE license_removal (license TEXT PRIMARY KEY, gives_back BIGINT NOT NULL)"),
            ]
        ),
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
        /// Rows that time may end.
        static let timed = SQL("SELECT (SELECT COUNT(*) FROM license) + (SELECT COUNT(*) FROM saved_key)")

        static let putLink = SQL(
            "INSERT INTO link (portal_user, sealed) VALUES ($1, $2) ON CONFLICT (portal_user) DO UPDATE SET sealed = excluded.sealed"
        )
        static let removeLink = SQL("DELETE FROM link WHERE portal_user = $1")
        static let links = SQL("SELECT portal_user, sealed FROM link LIMIT 1000")

        static let addRelease = SQL("INSERT INTO release (license, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        static let releases = SQL("SELECT license, sealed FROM release ORDER BY license LIMIT $1")
        static let removeRelease = SQL("DELETE FROM release WHERE license = $1")

        /// Rows of saved items.
        static let saved = SQL("SELECT (SELECT COUNT(*) FROM saved_secret) + (SELECT COUNT(*) FROM saved_key)")
        static let secret = SQL("SELECT sealed FROM saved_secret WHERE name = $1")
        static let addSecret = SQL("INSERT INTO saved_secret (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        static let removeSecret = SQL("DELETE FROM saved_secret WHERE name = $1")
        static let savedKeys = SQL("SELECT name, sealed, secret, license FROM saved_key WHERE item = $1 LIMIT $2")
        static let putSavedKey = SQL(
            """
            INSERT INTO saved_key (item, name, sealed, secret, license) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (item, name) DO UPDATE SET sealed = excluded.sealed, secret = excluded.secret, license = excluded.license
            """
        )
        static let renewSavedKey = SQL(
            "UPDATE saved_key SET sealed = $3, secret = $4, license = $5 WHERE item = $1 AND name = $2"
        )
        static let removeSavedKey = SQL("DELETE FROM saved_key WHERE item = $1 AND name = $2")
        static let removeSavedKeys = SQL("DELETE FROM saved_key WHERE item = $1")
        static let savedKeyCount = SQL("SELECT COUNT(*) FROM saved_key WHERE item = $1")
        /// The licenses of an item that no other item has.
        static let ownLicenses = SQL(
            """
            SELECT DISTINCT license FROM saved_key WHERE item = $1 AND license IS NOT NULL
            AND license NOT IN (SELECT license FROM saved_key WHERE item <> $1 AND license IS NOT NULL)
            """
        )
        static let savedItems = SQL(
            """
            SELECT item FROM (SELECT item FROM saved_key UNION SELECT substr(name, 6) FROM saved_secret WHERE name LIKE 'item %')
            WHERE item > $1 ORDER BY item LIMIT $2
            """
        )
        static let itemsOfLicense = SQL("SELECT DISTINCT item FROM saved_key WHERE license = $1 ORDER BY item LIMIT $2")
        static let addRemoval = SQL(
            """
            INSERT INTO license_removal (license, gives_back) VALUES ($1, $2)
            ON CONFLICT (license) DO UPDATE SET gives_back = max(license_removal.gives_back, excluded.gives_back)
            """
        )
        static let removals = SQL("SELECT license, gives_back FROM license_removal ORDER BY license LIMIT $1")
        static let removeRemoval = SQL("DELETE FROM license_removal WHERE license = $1")
    }
}
