import CarrelStore

extension Schema {
    /// Under load many entries are one row: `entries` holds them, `at` is the time of the last of them.
    static let auditPages = Migration(
        version: 15,
        name: "pages of the audit log",
        statements: [
            SQL("ALTER TABLE audit ADD COLUMN first_at BIGINT"),
            SQL("ALTER TABLE audit ADD COLUMN filter BLOB"),
            SQL("ALTER TABLE audit ADD COLUMN entries BLOB"),
            SQL("CREATE INDEX audit_pages ON audit (at, id, first_at) WHERE entries IS NOT NULL"),
        ]
    )
}
