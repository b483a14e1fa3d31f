package import CarrelBytes
import CarrelCrypto
import CarrelStore

/// The record of who did what: appended in the transaction of what it records, then sealed into a chain.
///
/// Each seal is the HMAC-SHA-256 of the seal before it and of the entry, under a key that is not in the database: an entry that
/// is changed, removed or slipped in after it was sealed breaks the chain, and ``verify()`` says where. Entries are sealed a
/// moment after they were written, by ``seal()``, so that transactions do not queue up behind one another for the head of the
/// chain. The last seal is remembered outside the database, so that unsealed entries take the place of no sealed ones. What is
/// not sealed yet is not protected: who can write to the database can add entries, and change those of the last second.
package struct Audit: Sendable {
    let database: any Database
    private let key: HMACSHA256
    private let head: AuditHead

    package struct Entry: Sendable, Equatable {
        package let id: String
        package let at: Instant
        /// Who: an account's id, a back-office key's id, `operator` for the home's own socket, or `nobody`.
        package let actor: String
        /// What: a stable dotted word, such as `session.start`.
        package let action: String
        /// On what: an id.
        package let subject: String
        package let outcome: Outcome
        /// Why, as a stable word; empty where the outcome says it all.
        package let reason: String
        package let requestID: String

        package enum Outcome: String, Sendable, CaseIterable { case allowed, refused, failed }

        init(
            at: Instant,
            actor: String,
            action: String,
            subject: String,
            outcome: Outcome = .allowed,
            reason: String = "",
            requestID: String = "",
            id: String? = nil
        ) {
            self.id = id ?? Random.uuid(at: at)
            self.at = at
            self.actor = actor
            self.action = action
            self.subject = subject
            self.outcome = outcome
            self.reason = reason
            self.requestID = requestID
        }

        /// What the seal covers: every field behind its length.
        fileprivate var sealed: [UInt8] {
            var bytes: [UInt8] = []
            for field in [id, String(at.milliseconds), actor, action, subject, outcome.rawValue, reason, requestID] {
                bytes += "\(field.utf8.count):\(field)".utf8
            }
            return bytes
        }
    }

    /// The key, of 32 bytes, is kept wrapped under the master key, so that who has the database alone cannot seal.
    init(database: any Database, key: Secret, head: AuditHead) {
        self.database = database
        self.key = HMACSHA256(key: key)
        self.head = head
    }

    /// Seals what has not been sealed yet, in the order of time.
    ///
    /// - Returns: how many entries were sealed.
    /// - Throws: ``ServerError`` `conflict` when what was sealed before is gone or is another; nothing is sealed then.
    @discardableResult
    package func seal() async throws -> Int {
        // Most of the time there is nothing, and nothing is written.
        guard try await !database.read({ try AuditStore.unsealed(limit: 1, in: $0) }).isEmpty else { return 0 }
        var count = 0
        while true {
            let known = try head.read()
            let (sealed, mark) = try await database.write { transaction -> (Int, AuditHead.Mark?) in
                if let known, try AuditStore.seal(of: known.number, in: transaction) != known.seal { throw head.isMissing }
                let entries = try AuditStore.unsealed(limit: 1000, in: transaction)
                guard !entries.isEmpty else { return (0, nil) }
                var (number, last) = try AuditStore.head(in: transaction) ?? (0, [])
                for entry in entries {
                    number += 1
                    last = key.authenticate((last + entry.sealed).rawSpan)
                    try AuditStore.setSeal(last, number: number, of: entry.id, in: transaction)
                }
                return (entries.count, AuditHead.Mark(number: number, seal: last))
            }
            if let mark { try head.write(mark) }
            count += sealed
            if sealed < 1000 { return count }
        }
    }

    /// What a walk along the chain found.
    package enum Verification: Sendable, Equatable {
        case intact(count: Int)
        /// The first entry that is not what was sealed, by its number in the chain.
        case broken(number: Int64)
    }

    /// Walks the chain from its first entry to its last, and past the one that was sealed last here.
    package func verify() async throws -> Verification {
        let known = try head.read()
        return try await database.read { transaction in
            var (last, expected, broken): ([UInt8], Int64, Int64?) = ([], 0, nil)
            try AuditStore.eachSealed(in: transaction) { entry, number, seal in
                guard broken == nil else { return }
                expected += 1
                last = key.authenticate((last + entry.sealed).rawSpan)
                if number != expected || seal != last { broken = expected }
                if let known, number == known.number, seal != known.seal { broken = expected }
            }
            if broken == nil, let known, expected < known.number { broken = expected + 1 }
            return broken.map { .broken(number: $0) } ?? .intact(count: Int(expected))
        }
    }

    /// Which entries to list.
    package struct Filter: Sendable {
        /// An id, as subject or as actor.
        package var about: String?
        package var action: String?
        package var actor: String?
        package var outcome: Entry.Outcome?
        package var since: Instant?
        package var until: Instant?
        /// The last entry of the page before, by its time and id.
        package var after: (Instant, String)?
        package var limit = 100

        package init() {}
    }

    /// An entry with the names of the accounts it speaks of, where they are accounts.
    package struct Found: Sendable, Equatable {
        package let entry: Entry
        package let actorName: String?
        package let subjectName: String?
    }

    /// The entries that pass the filter, the newest first.
    package func search(_ filter: Filter) async throws -> [Found] {
        try await database.read { try AuditStore.list(filter, in: $0) }
    }
}
