// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHome
import CarrelStore

/// The operator's links between identities at providers and accounts. Every change is in the audit log.
struct Identities: Sendable {
    let database: any Database
    let clock: any WallClock

    func list(of account: Account) async throws -> [SignOnStore.Identity] {
        try await database.read { try SignOnStore.identities(of: account.id, in: $0) }
    }

    /// Links an identity to an account.
    ///
    /// - Throws: ``ServerError`` `conflict` if it is already linked to an account.
    func link(issuer: String, subject: String, to account: Account, by actor: AuditActor) async throws {
        guard !issuer.isEmpty, issuer.utf8.count <= 1024, 1...255 ~= subject.utf8.count else {
            throw ServerError(.invalid, "an identity is an issuer and a subject of at most 255 bytes")
        }
        // The subject identifies a person: it stays out of the log, where it could never be deleted.
        let entry = actor.entry("identity.link", on: account.id, at: clock.now, reason: issuer)
        try await database.write { transaction in
            let isNew = try SignOnStore.link(
                issuer: issuer,
                subject: subject,
                to: account.id,
                isProven: false,
                at: entry.at,
                in: transaction
            )
            guard isNew else { throw ServerError(.conflict, "this identity is already linked to an account") }
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// Unlinks an identity. Open sessions continue until they end.
    func unlink(issuer: String, subject: String, of account: Account, by actor: AuditActor) async throws {
        let entry = actor.entry("identity.unlink", on: account.id, at: clock.now, reason: issuer)
        try await database.write { transaction in
            guard try SignOnStore.unlink(issuer: issuer, subject: subject, of: account.id, in: transaction) else {
                throw ServerError(.notFound, "this identity is not linked to the account")
            }
            try AuditStore.append(entry, in: transaction)
        }
    }
}

/// Identities that staff linked end when their account becomes staff's: others may sign in with them. All end with an erasure.
extension Identities: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        switch change {
        case .promoted(let kept):
            for known in try SignOnStore.identities(of: account, in: transaction) where !known.isProven {
                let (issuer, subject) = (known.issuer, known.subject)
                if let kept, kept == (issuer, subject) { continue }
                _ = try SignOnStore.unlink(issuer: issuer, subject: subject, of: account, in: transaction)
                try AuditStore.append(actor.entry("identity.unlink", on: account, at: now, reason: issuer), in: transaction)
            }
        case .erased: try SignOnStore.deleteAll(of: account, in: transaction)
        default: break
        }
        return []
    }
}
