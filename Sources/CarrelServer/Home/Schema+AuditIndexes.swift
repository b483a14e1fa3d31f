import CarrelStore

extension Schema {
    /// Most entries say that credentials were handed out, on a product: among a thousand products each would change another page of
    /// an index, and nobody looks for them in it.
    static let auditIndexes = Migration(
        version: 12,
        name: "smaller indexes of the audit log",
        statements: [
            SQL("DROP INDEX audit_by_subject"),
            SQL("CREATE INDEX audit_by_subject ON audit (subject, at) WHERE action <> 'edition.credentials'"),
            SQL("DROP INDEX audit_by_number"),
            SQL("CREATE INDEX audit_unsealed ON audit (at, id) WHERE number IS NULL"),
        ]
    )
}
