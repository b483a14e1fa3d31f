// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// A content may be several products, and SQLite cannot take the constraint off `source_hash`: lookups use `content_hash`,
    /// and `source_hash` holds a key that is unique anyway (``TitleStore/uniqueKey(of:)``). Pages ingested before have no time.
    static let contents = Migration(
        version: 22,
        name: "contents of several products, when pages changed",
        statements: [
            SQL("ALTER TABLE titles ADD COLUMN content_hash BLOB"),
            SQL("UPDATE titles SET content_hash = source_hash"),
            SQL("CREATE INDEX titles_by_content ON titles (content_hash)"),
            SQL("ALTER TABLE edition_resources ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0"),
        ]
    )
}
