// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelStore

/// The audit log: entries are appended in the transaction of the recorded change, then sealed into a chain.
///
/// Each seal is the HMAC-SHA-256 of the seal before it and of the entry, under a key that is not in the database: an entry that
/// is changed, removed or inserted after it was sealed breaks the chain, and ``verify()`` reports where. An entry recorded with a
/// change is sealed a moment later, by ``seal()``, so that transactions do not wait for one another at the end of the chain;
/// entries of ``AuditBatchWriter`` are sealed when they are written. The last seal is stored outside the database, so that
/// unsealed entries cannot replace sealed ones. Unsealed entries are not protected: an attacker with write access to the database
/// can add entries, and change entries of the last second.
package struct Audit: Sendable {
    let database: any Database
    package let clock: any WallClock
    /// The writer of entries that belong to no change of state.
    package let group: AuditBatchWriter
    /// The writer that combines an account's repeats.
    package let fold: AuditFold
    package let archive: AuditArchive
    private let chain: AuditChain
    /// Whether an id is a product's.
    private let isProduct: @Sendable (String, any Transaction) throws -> Bool

    /// The key, of 32 bytes, is kept wrapped under the master key, so that who has the database alone cannot seal.
    init(
        database: any Database,
        clock: any WallClock,
        key: Secret,
        head: AuditHead,
        isProduct: @escaping @Sendable (String, any Transaction) throws -> Bool
    ) {
        self.isProduct = isProduct
        self.database = database
        self.clock = clock
        chain = AuditChain(key: HMACSHA256(key: key), head: head)
        group = AuditBatchWriter(database: database, chain: chain)
        fold = AuditFold(group)
        archive = AuditArchive(database: database, chain: chain)
    }

    /// Seals what has not been sealed yet, in the order of time, and stores the end of the chain. The counts of past minutes are
    /// written first.
    ///
    /// - Throws: ``ServerError`` `conflict` if earlier sealed entries are missing or altered; nothing is sealed then.
    package func seal() async throws {
        var unwritten: (any Error)?
        do {
            try await fold.flush(at: clock.now)
            try await group.settle()
        } catch {
            unwritten = error
        }
        while true {
            // Most of the time there is nothing to seal, and nothing is written.
            let (end, isWhole) = try await database.read { [chain] transaction in
                (try chain.end(in: transaction), try AuditStore.unsealed(limit: 1, in: transaction).isEmpty)
            }
            if let end { chain.saw(end) }
            try chain.keep()
            if isWhole { break }
            let (last, count) = try await database.write { [chain] transaction in
                let entries = try AuditStore.unsealed(limit: 1000, in: transaction)
                let marks = try chain.marks(of: entries, in: transaction)
                for (entry, mark) in zip(entries, marks) { try AuditStore.setSeal(mark, of: entry.id, in: transaction) }
                return (marks.last, entries.count)
            }
            if let last { chain.saw(last) }
            try chain.keep()
            if count < 1000 { break }
        }
        if let unwritten { throw unwritten }
    }

    /// Returns once all that was recorded is durable.
    ///
    /// - Throws: the database's error when it is not yet.
    package func settle() async throws { try await group.settle() }

    /// Recorded entries that are not confirmed to be written.
    package var unwritten: [AuditEntry] { group.unwritten + fold.unwritten }

    /// Writes and seals all recorded entries before the process ends.
    ///
    /// - Throws: the errors of ``seal()``.
    package func finish() async throws {
        try await fold.flushAll()
        try await seal()
    }

    // MARK: Pruning

    /// Rows that one transaction prunes.
    private static let pruneBatch = 500

    /// Deletes sealed rows that are older than `retention` and that an archive holds, starting with the first. A sealed
    /// checkpoint records where the chain continues.
    ///
    /// - Returns: the number of deleted rows.
    /// - Throws: the errors of ``seal()``, and the database's error; rows deleted before the error stay deleted.
    @discardableResult
    package func prune(olderThan retention: Duration) async throws -> Int {
        try await seal()
        let now = clock.now
        var count = 0
        while true {
            let pruned = try await database.write { [chain] transaction -> Int in
                guard let archived = try chain.mark(.archived, in: transaction) else { return 0 }
                let start = try chain.mark(.checkpoint, in: transaction)?.number ?? 0
                let rows = try AuditStore.sealed(after: start, limit: Self.pruneBatch, in: transaction).prefix {
                    $0.mark.number <= archived.number && now - $0.entry.at > retention
                }
                guard let end = rows.last?.mark else { return 0 }
                try AuditStore.prune(upTo: end.number, in: transaction)
                try chain.set(.checkpoint, to: end, in: transaction)
                return rows.count
            }
            count += pruned
            if pruned < Self.pruneBatch { break }
        }
        guard count > 0 else { return 0 }
        let entry = AuditActor(AuditActor.server).entry("audit.prune", on: "", at: now, reason: String(count))
        try await database.write { try AuditStore.append(entry, in: $0) }
        return count
    }

    /// The result of a verification of the chain.
    package enum Verification: Sendable, Equatable {
        case intact(count: Int)
        /// The number of the first row that does not match its seal.
        case broken(number: Int64)
    }

    /// Verifies the chain from its first entry to its last, including the last entry sealed by this home.
    package func verify() async throws -> Verification {
        let known = try chain.known()
        return try await database.read { [chain] transaction in
            let start: AuditHead.Mark?
            do {
                start = try chain.mark(.checkpoint, in: transaction)
            } catch is ServerError {
                return .broken(number: try AuditStore.mark(.checkpoint, in: transaction)?.mark.number ?? 0)
            }
            var (last, broken, count): (AuditHead.Mark?, Int64?, Int) = (start, nil, 0)
            if let start, start.number == known?.number, start != known { broken = start.number }
            try AuditStore.eachSealed(in: transaction) { entry, mark in
                guard broken == nil else { return }
                let isKnown = mark.number != known?.number || mark == known
                let page = entry.action == AuditPage.action ? try AuditStore.page(entry.id, in: transaction) : nil
                let row = SealedAuditRow(entry: entry, mark: mark, page: page)
                if isKnown, let entries = try chain.count(row, after: last) {
                    count += entries
                } else {
                    broken = (last?.number ?? 0) + 1
                }
                last = mark
            }
            let end = last?.number ?? 0
            let isMissing = try known.map { end < $0.number } ?? false || AuditStore.hasStrayPage(in: transaction)
            if broken == nil, isMissing { broken = end + 1 }
            return broken.map { .broken(number: $0) } ?? .intact(count: count)
        }
    }

    /// The entries that pass the filter, the newest first; those that cannot be written are not among them.
    package func list(_ filter: AuditFilter) async throws -> [AuditEntry] {
        try? await group.settle()
        return try await database.read { [isProduct] in try AuditStore.list(filter, isProduct: isProduct, in: $0) }
    }
}
