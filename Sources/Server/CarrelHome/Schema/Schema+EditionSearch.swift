// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// `SearchGrams` creates and documents the terms of the index; `EditionIndex` fills it in the background.
    static let editionSearch = Migration(
        version: 19,
        name: "the index of the catalog",
        statements: [
            SQL("ALTER TABLE editions ADD COLUMN search_version BIGINT NOT NULL DEFAULT 0"),
            SQL("CREATE INDEX editions_by_search_version ON editions (search_version)"),
        ],
        sqlite: [
            SQL("ALTER TABLE editions ADD COLUMN search_id BIGINT"),
            SQL("CREATE UNIQUE INDEX editions_by_search_id ON editions (search_id)"),
            SQL("CREATE VIRTUAL TABLE edition_search USING fts5 (grams, detail = none, columnsize = 0, tokenize = 'ascii')"),
        ],
        postgresql: [
            SQL("ALTER TABLE editions ADD COLUMN search_grams tsvector"),
            SQL("CREATE INDEX editions_by_search_grams ON editions USING gin (search_grams) WITH (fastupdate = off)"),
        ]
    )

    /// When the edition was changed that the index holds: another time means that a node of an earlier version wrote the edition.
    static let editionSearchTimes = Migration(
        version: 24,
        name: "which editions the index of the catalog is behind with",
        statements: [
            SQL("ALTER TABLE editions ADD COLUMN search_at BIGINT NOT NULL DEFAULT 0"),
            SQL("CREATE INDEX editions_by_search_delay ON editions (title_id) WHERE search_at <> updated_at"),
        ]
    )
}
