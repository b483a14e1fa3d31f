import CarrelStore

extension Schema {
    /// Looking for what somebody did walks through nothing else. Most entries say that credentials were handed out, on a product:
    /// among a thousand products each would change another page of the index of subjects, so that it leaves them out. And the
    /// index of what is not sealed yet holds a second's entries.
    static let auditIndexes = Migration(
        version: 12,
        name: "indexes of the audit log",
        statements: [
            SQL("CREATE INDEX audit_by_actor ON audit (actor, at, id)"),
            SQL("DROP INDEX audit_by_subject"),
            SQL("CREATE INDEX audit_by_subject ON audit (subject, at) WHERE action <> 'edition.credentials'"),
            SQL("DROP INDEX audit_by_number"),
            SQL("CREATE INDEX audit_unsealed ON audit (at, id) WHERE number IS NULL"),
        ]
    )
}
