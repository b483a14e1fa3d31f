// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Journal {
    static let migrations = [
        Migration(
            version: 1,
            name: "downloads",
            statements: [
                // `source` finds an item by its address without being readable; `sealed` has address, token and header fields
                SQL(
                    """
                    CREATE TABLE item (id TEXT PRIMARY KEY, title TEXT NOT NULL, source BLOB NOT NULL UNIQUE, sealed BLOB NOT NULL,
                    state TEXT NOT NULL, reason TEXT, message TEXT, retryable BIGINT NOT NULL, priority BIGINT NOT NULL,
                    pinned BIGINT NOT NULL, seal TEXT NOT NULL, rate BIGINT, connections BIGINT, network TEXT NOT NULL,
                    charging BIGINT NOT NULL, free_space BIGINT NOT NULL, done BIGINT NOT NULL, total BIGINT NOT NULL,
                    expires BIGINT, renews BIGINT, added BIGINT NOT NULL, used BIGINT NOT NULL, planned BIGINT NOT NULL,
                    gives_back BIGINT NOT NULL, fingerprint BLOB)
                    """
                ),
                SQL("CREATE INDEX item_state ON item (state)"),
                // durable files; `part` 0 is the media, 1 the initialization
                SQL(
                    """
                    CREATE TABLE piece (item TEXT NOT NULL, stream BIGINT NOT NULL, number BIGINT NOT NULL, part BIGINT NOT NULL,
                    length BIGINT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (item, stream, number, part))
                    """
                ),
                // files that a long transfer has begun: `length` bytes of the version `validator` are durable
                SQL(
                    """
                    CREATE TABLE partial (item TEXT NOT NULL, stream BIGINT NOT NULL, number BIGINT NOT NULL, part BIGINT NOT NULL,
                    validator TEXT NOT NULL, length BIGINT NOT NULL, PRIMARY KEY (item, stream, number, part))
                    """
                ),
                // the versions of resources of which several files are parts
                SQL(
                    """
                    CREATE TABLE resource (item TEXT NOT NULL, number BIGINT NOT NULL, validator TEXT, length BIGINT,
                    PRIMARY KEY (item, number))
                    """
                ),
                // items without files, whose keys are removed when the vault opens
                SQL("CREATE TABLE removal (item TEXT PRIMARY KEY, gives_back BIGINT NOT NULL)"),
                SQL("CREATE TABLE setting (name TEXT PRIMARY KEY, value BIGINT NOT NULL)"),
            ]
        )
    ]

    enum Statement {
        static let item = SQL("SELECT * FROM item WHERE id = $1")
        static let items = SQL("SELECT * FROM item ORDER BY priority DESC, added, id")
        static let openItems = SQL(
            "SELECT * FROM item WHERE state NOT IN ('completed', 'expired', 'failed') ORDER BY priority DESC, added, id"
        )
        static let dueRenewals = SQL(
            "SELECT * FROM item WHERE renews <= $1 AND state IN ('completed', 'expired') ORDER BY renews LIMIT 20"
        )
        static let bySource = SQL("SELECT * FROM item WHERE source = $1")
        static let count = SQL("SELECT COUNT(*) FROM item")
        static let add = SQL(
            """
            INSERT INTO item (id, title, source, sealed, state, reason, message, retryable, priority, pinned, seal, rate, connections,
            network, charging, free_space, done, total, expires, renews, added, used, planned, gives_back, fingerprint)
            VALUES ($1, $2, $3, $4, 'queued', NULL, NULL, 0, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0, NULL, NULL, $13, $13, 0, 0, NULL)
            """
        )
        static let setSealed = SQL("UPDATE item SET sealed = $2 WHERE id = $1")
        static let state = SQL("SELECT state FROM item WHERE id = $1")
        static let setState = SQL("UPDATE item SET state = $2, reason = $3, message = $4, retryable = $5 WHERE id = $1")
        static let setRemoving = SQL(
            "UPDATE item SET state = 'removing', reason = NULL, message = NULL, gives_back = max(gives_back, $2) WHERE id = $1"
        )
        static let setCancelled = SQL(
            """
            UPDATE item SET state = 'removing', reason = NULL, message = NULL, gives_back = max(gives_back, $2) WHERE id = $1
            AND state NOT IN ('completed', 'expired')
            """
        )
        static let setMessage = SQL("UPDATE item SET message = $2 WHERE id = $1")
        static let setPriority = SQL("UPDATE item SET priority = $2 WHERE id = $1")
        static let setPinned = SQL("UPDATE item SET pinned = $2 WHERE id = $1")
        static let setLimits = SQL("UPDATE item SET rate = $2, connections = $3 WHERE id = $1")
        static let setRequirements = SQL("UPDATE item SET network = $2, charging = $3, free_space = $4 WHERE id = $1")
        static let setSizes = SQL("UPDATE item SET done = $2, total = $3 WHERE id = $1")
        static let setPlanned = SQL("UPDATE item SET planned = $2, fingerprint = $3 WHERE id = $1")
        static let setTerms = SQL("UPDATE item SET expires = $2, renews = $3 WHERE id = $1")
        static let setRenewal = SQL("UPDATE item SET renews = $2 WHERE id = $1 AND renews IS NOT NULL")
        static let setSource = SQL("UPDATE item SET source = $2, sealed = $3 WHERE id = $1")
        static let setUsed = SQL("UPDATE item SET used = $2 WHERE id = $1")
        static let remove = SQL("DELETE FROM item WHERE id = $1")

        static let pieces = SQL("SELECT stream, number, part, length, digest FROM piece WHERE item = $1")
        static let piece = SQL("SELECT length, digest FROM piece WHERE item = $1 AND stream = $2 AND number = $3 AND part = $4")
        static let addPiece = SQL(
            """
            INSERT INTO piece (item, stream, number, part, length, digest) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (item, stream, number, part) DO UPDATE SET length = excluded.length, digest = excluded.digest
            """
        )
        static let removePiece = SQL("DELETE FROM piece WHERE item = $1 AND stream = $2 AND number = $3 AND part = $4")
        static let removePieces = SQL("DELETE FROM piece WHERE item = $1")

        static let partials = SQL("SELECT stream, number, part, validator, length FROM partial WHERE item = $1")
        static let addPartial = SQL(
            """
            INSERT INTO partial (item, stream, number, part, validator, length) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (item, stream, number, part) DO UPDATE SET validator = excluded.validator, length = excluded.length
            """
        )
        static let removePartial = SQL("DELETE FROM partial WHERE item = $1 AND stream = $2 AND number = $3 AND part = $4")
        static let removePartials = SQL("DELETE FROM partial WHERE item = $1")

        static let resources = SQL("SELECT number, validator, length FROM resource WHERE item = $1")
        static let addResource = SQL(
            "INSERT INTO resource (item, number, validator, length) VALUES ($1, $2, $3, $4) ON CONFLICT (item, number) DO NOTHING"
        )
        static let removeResources = SQL("DELETE FROM resource WHERE item = $1")

        static let removals = SQL("SELECT item, gives_back FROM removal ORDER BY item LIMIT 1000")
        static let addRemoval = SQL(
            """
            INSERT INTO removal (item, gives_back) VALUES ($1, $2)
            ON CONFLICT (item) DO UPDATE SET gives_back = max(removal.gives_back, excluded.gives_back)
            """
        )
        static let removeRemoval = SQL("DELETE FROM removal WHERE item = $1")

        static let settings = SQL("SELECT name, value FROM setting")
        static let setSetting = SQL(
            "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
    }
}
