import CarrelStore

extension Schema {
    static let auditByActor = Migration(
        version: 12,
        name: "the audit log by who did it",
        statements: [SQL("CREATE INDEX audit_by_actor ON audit (actor, at, id)")]
    )
}
