import CarrelStore

extension Schema {
    /// Entries that say that credentials were handed out stand together in one row, as many as one commit took
    /// (docs/decisions/0014-audit-bundles.md).
    static let auditBundles = Migration(
        version: 14,
        name: "bundles of audit entries",
        statements: [
            SQL("ALTER TABLE audit ADD COLUMN bundle BLOB"),
            SQL("CREATE INDEX audit_bundles ON audit (at, id) WHERE bundle IS NOT NULL"),
        ]
    )
}
