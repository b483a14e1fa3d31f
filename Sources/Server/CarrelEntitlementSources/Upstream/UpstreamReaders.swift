// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelHome
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Data cached about readers of upstream systems, who may have no account here.
struct UpstreamReaders: Sendable {
    let database: any Database
    let clock: any WallClock
    let subjects: UpstreamSubjects
    let expunging: Expunging

    /// Exports the cached data about a reader, and records it in the audit log.
    ///
    /// - Parameters:
    ///   - name: the reader's sign-in name.
    ///   - actor: the recipient, for the audit log.
    /// - Returns: an item for each system with data.
    /// - Throws: the database's error.
    func export(named name: String, by actor: AuditActor) async throws -> [JSON] {
        let now = clock.now
        return try await database.write { [subjects] transaction in
            try subjects.all(named: name, in: transaction).compactMap { subject in
                guard let found = try UpstreamStore.export(of: subject, in: transaction) else { return nil }
                try AuditStore.append(actor.entry("upstream.export", on: subject, at: now), in: transaction)
                return found
            }
        }
    }

    /// Deletes the cached data about a reader.
    ///
    /// - Parameters:
    ///   - name: the reader's sign-in name.
    ///   - actor: the actor for the audit log.
    /// - Returns: the number of systems whose data was deleted.
    /// - Throws: the database's error.
    func forget(named name: String, by actor: AuditActor) async throws -> Int {
        let now = clock.now
        let count = try await database.write { [subjects] transaction in
            let known = try subjects.all(named: name, in: transaction).filter {
                try UpstreamStore.export(of: $0, in: transaction) != nil
            }
            for subject in known { try UpstreamStore.delete(subject, in: transaction) }
            let entry = actor.entry("upstream.forget", on: known.first ?? "", at: now, reason: String(known.count))
            try AuditStore.append(entry, in: transaction)
            return known.count
        }
        await expunging.run()
        return count
    }
}
