// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Searches by actor or subject read only matching rows. Most entries are issued credentials, with a product as subject: with
    /// a thousand products each entry would change another page of the index of subjects, so it leaves them out. The index of
    /// unsealed entries contains about one second of entries.
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
