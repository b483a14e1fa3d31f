// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHTTP
package import CarrelHome
package import CarrelJSON
package import CarrelStore
import CarrelThreads
package import CarrelWebAPI

/// The audit log: a sealed chain of entries.
package struct AuditCapability: Capability {
    package let audit: Audit
    private let database: any Database
    private let retention: Duration?

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - retention: the retention of archived entries; nil forever.
    ///   - isProduct: whether an id is a product's, for looking up entries.
    /// - Throws: ``ServerError`` `masterKey` if the key of the chain is missing.
    package init(
        _ context: ServiceContext,
        retention: Duration?,
        isProduct: @escaping @Sendable (String, any Transaction) throws -> Bool
    ) throws {
        database = context.database
        self.retention = retention
        audit = Audit(
            database: context.database,
            clock: context.clock,
            key: try context.secret(.audit),
            head: AuditHead(path: context.home.auditHeadPath),
            isProduct: isProduct
        )
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "audit": .kept(
            exportedAs: "audit",
            because: "each entry is sealed together with the one before it; an entry names ids, never a person"
        ),
        "audit_pages": .kept(
            exportedAs: "audit",
            because: "a page is sealed as one; its entries name ids, never a person"
        ),
        "audit_marks": .nothing("numbers and seals of places in the audit log"),
    ]
    package static let statements = AuditStore.statements

    package var jobs: [BackgroundJob] {
        let audit = audit
        var jobs = [
            BackgroundJob(
                every: .seconds(1),
                trouble: "the audit log cannot be sealed",
                work: { try await audit.seal() },
                end: { try await audit.seal() }
            )
        ]
        if let retention {
            jobs.append(
                BackgroundJob(every: .seconds(3600), trouble: "the audit log cannot be pruned") {
                    try await audit.prune(olderThan: retention)
                }
            )
        }
        return jobs
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("audit", for: .subjects) { person, id, mark, transaction in
                id == person.account
                    ? try AuditStore.exported(of: person, after: mark, in: transaction)
                    : try AuditStore.exported(ofThing: id, of: person.account, after: mark, in: transaction)
            }
        ]
    }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        let database = database
        let unsealed = try? await CarrelThreads.within(limit) { try await database.read { try AuditStore.unsealedCount(in: $0) } }
        return [
            "queues": [
                "auditUnsealed": unsealed.map { .integer($0) } ?? .null, "auditUnwritten": .integer(audit.group.waiting),
            ]
        ]
    }
}
