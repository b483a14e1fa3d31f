// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
package import CarrelStore

extension LCPStore {
    /// The tables, for a database opened elsewhere.
    package static let migrations = [
        Migration(
            version: 1,
            name: "licenses",
            statements: [
                SQL("CREATE TABLE lcp_passphrase (digest BLOB NOT NULL, license TEXT, provider TEXT, user_id TEXT)"),
                SQL("CREATE TABLE lcp_device (place BIGINT PRIMARY KEY, id TEXT NOT NULL)"),
                SQL(
                    "CREATE TABLE lcp_registration (license TEXT NOT NULL, provider TEXT NOT NULL, PRIMARY KEY (license, provider))"
                ),
                SQL(
                    "CREATE TABLE lcp_revocation_list (url TEXT PRIMARY KEY, der BLOB, checked BIGINT, attempted BIGINT NOT NULL)"
                ),
                SQL(
                    """
                    CREATE TABLE lcp_license (id TEXT NOT NULL, provider TEXT NOT NULL, document BLOB NOT NULL,
                    PRIMARY KEY (id, provider))
                    """
                ),
                SQL(
                    """
                    CREATE TABLE lcp_standing (license TEXT NOT NULL, provider TEXT NOT NULL, newest BIGINT NOT NULL,
                    refusal TEXT, message TEXT, PRIMARY KEY (license, provider))
                    """
                ),
            ]
        ),
        DatabaseUserRightsStore.migration(version: 2),
        DatabaseUserRightsStore.contentMigration(version: 3),
        Migration(
            version: 4,
            name: "who signed a license",
            statements: [
                // rows from before have no signer: they count until something is learnt of the same license again
                SQL(
                    """
                    CREATE TABLE lcp_signed_license (id TEXT NOT NULL, provider TEXT NOT NULL, signer TEXT NOT NULL, document BLOB NOT NULL,
                    PRIMARY KEY (id, provider, signer))
                    """
                ),
                SQL("INSERT INTO lcp_signed_license SELECT id, provider, '', document FROM lcp_license"),
                SQL("DROP TABLE lcp_license"),
                SQL(
                    """
                    CREATE TABLE lcp_signed_standing (license TEXT NOT NULL, provider TEXT NOT NULL, signer TEXT NOT NULL,
                    newest BIGINT NOT NULL, refusal TEXT, message TEXT, PRIMARY KEY (license, provider, signer))
                    """
                ),
                SQL(
                    """
                    INSERT INTO lcp_signed_standing SELECT license, provider, '', newest, refusal, message FROM lcp_standing
                    """
                ),
                SQL("DROP TABLE lcp_standing"),
            ]
        ),
        Migration(
            version: 5,
            name: "a store that a vault seals",
            statements: [SQL("CREATE TABLE lcp_store_key (place BIGINT PRIMARY KEY, sealed BLOB NOT NULL)")]
        ),
    ]

    enum Statement {
        static let storeKey = SQL("SELECT sealed FROM lcp_store_key WHERE place = 1")
        static let addStoreKey = SQL("INSERT INTO lcp_store_key (place, sealed) VALUES (1, $1)")
        static let clearDigests = SQL("SELECT DISTINCT digest FROM lcp_passphrase WHERE LENGTH(digest) = $1")
        static let sealDigest = SQL("UPDATE lcp_passphrase SET digest = $2 WHERE digest = $1")
        static let passphrases = SQL(
            """
            SELECT digest, license, provider, user_id FROM lcp_passphrase ORDER BY CASE
            WHEN license = $2 AND (provider IS NULL OR provider = $3) THEN 0
            WHEN provider = $3 AND user_id = $4 THEN 1
            WHEN provider = $3 THEN 2 ELSE 3 END, rowid DESC LIMIT $1
            """
        )
        static let knownPassphrase = SQL(
            """
            SELECT digest FROM lcp_passphrase WHERE digest = $1 AND license IS NOT DISTINCT FROM $2
            AND provider IS NOT DISTINCT FROM $3 AND user_id IS NOT DISTINCT FROM $4
            """
        )
        /// The same for a passphrase among the last that opened a license.
        static let recentPassphrase = SQL(
            """
            SELECT digest FROM lcp_passphrase WHERE digest = $1 AND license IS NOT DISTINCT FROM $2
            AND provider IS NOT DISTINCT FROM $3 AND user_id IS NOT DISTINCT FROM $4
            AND rowid IN (SELECT rowid FROM lcp_passphrase WHERE license IS NOT NULL ORDER BY rowid DESC LIMIT $5)
            """
        )
        static let removePassphrase = SQL(
            """
            DELETE FROM lcp_passphrase WHERE digest = $1 AND license IS NOT DISTINCT FROM $2
            AND provider IS NOT DISTINCT FROM $3 AND user_id IS NOT DISTINCT FROM $4
            """
        )
        static let addPassphrase = SQL(
            "INSERT INTO lcp_passphrase (digest, license, provider, user_id) VALUES ($1, $2, $3, $4)"
        )
        static let pruneCatalogPassphrases = SQL(
            """
            DELETE FROM lcp_passphrase WHERE license IS NULL AND rowid NOT IN
            (SELECT rowid FROM lcp_passphrase WHERE license IS NULL ORDER BY rowid DESC LIMIT $1)
            """
        )
        static let pruneUsedPassphrases = SQL(
            """
            DELETE FROM lcp_passphrase WHERE license IS NOT NULL AND rowid NOT IN
            (SELECT rowid FROM lcp_passphrase WHERE license IS NOT NULL ORDER BY rowid DESC LIMIT $1)
            """
        )
        static let standings = SQL(
            """
            SELECT license, provider, MAX(refusal) FROM lcp_signed_standing GROUP BY license, provider
            ORDER BY license, provider LIMIT 10000
            """
        )
        static let addDevice = SQL("INSERT INTO lcp_device (place, id) VALUES (1, $1) ON CONFLICT DO NOTHING")
        static let device = SQL("SELECT id FROM lcp_device WHERE place = 1")
        static let registration = SQL("SELECT license FROM lcp_registration WHERE license = $1 AND provider = $2")
        static let addRegistration = SQL(
            "INSERT INTO lcp_registration (license, provider) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        )
        static let list = SQL("SELECT der, checked, attempted FROM lcp_revocation_list WHERE url = $1")
        static let lists = SQL("SELECT url, der FROM lcp_revocation_list WHERE der IS NOT NULL ORDER BY url")
        static let keepList = SQL(
            """
            INSERT INTO lcp_revocation_list (url, der, checked, attempted) VALUES ($1, $2, $3, $3)
            ON CONFLICT (url) DO UPDATE SET der = excluded.der, checked = excluded.checked, attempted = excluded.attempted
            """
        )
        static let noteAttempt = SQL(
            """
            INSERT INTO lcp_revocation_list (url, attempted) VALUES ($1, $2)
            ON CONFLICT (url) DO UPDATE SET attempted = excluded.attempted
            """
        )
        static let license = SQL(
            """
            SELECT document FROM lcp_signed_license WHERE id = $1 AND provider = $2 AND signer IN ($3, '')
            ORDER BY signer DESC
            """
        )
        static let keepLicense = SQL(
            """
            INSERT INTO lcp_signed_license (id, provider, signer, document) VALUES ($1, $2, $3, $4)
            ON CONFLICT (id, provider, signer) DO UPDATE SET document = excluded.document
            """
        )
        static let standing = SQL(
            """
            SELECT newest, refusal, message FROM lcp_signed_standing WHERE license = $1 AND provider = $2 AND signer IN ($3, '')
            ORDER BY signer DESC LIMIT 1
            """
        )
        /// A signer's first row has the state from before there were signers.
        static let noteNewest = SQL(
            """
            INSERT INTO lcp_signed_standing (license, provider, signer, newest, refusal, message)
            SELECT $1, $2, $3, CASE WHEN before.newest > $4 THEN before.newest ELSE $4 END, before.refusal, before.message
            FROM (SELECT 1 AS one) AS row LEFT JOIN lcp_signed_standing AS before
            ON before.license = $1 AND before.provider = $2 AND before.signer = '' WHERE true
            ON CONFLICT (license, provider, signer) DO UPDATE SET newest = excluded.newest
            WHERE excluded.newest > lcp_signed_standing.newest
            """
        )
        static let noteRefusal = SQL(
            "UPDATE lcp_signed_standing SET refusal = $4, message = $5 WHERE license = $1 AND provider = $2 AND signer = $3"
        )
    }
}
