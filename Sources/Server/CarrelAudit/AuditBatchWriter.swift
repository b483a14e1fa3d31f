// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
import CarrelStore
import CarrelThreads

/// A writer of audit entries that belong to no change of state, in batches: requests do not wait for the disk.
///
/// Entries are written ``interval`` later: a few as rows, many as one ``AuditPage``. With a slow disk or a long queue, recording
/// waits. If the log cannot be written, recording throws, so that nothing is granted without a record. Entries recorded before
/// are kept and retried.
package final class AuditBatchWriter: Sendable {
    private struct Waiter {
        /// Nil for a caller that only waits for earlier entries.
        let entry: AuditEntry?
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// The contents of one commit.
    private struct Group {
        /// Entries whose callers do not wait.
        var page: AuditPage?
        /// Entries whose callers wait.
        private(set) var waiters: [Waiter] = []
        /// Number of waiting entries; counted, because there may be a waiter per connection.
        private var waitingEntries = 0

        mutating func add(_ waiter: Waiter) {
            waiters.append(waiter)
            if waiter.entry != nil { waitingEntries += 1 }
        }

        mutating func removeWaiters() -> [Waiter] {
            defer { (waiters, waitingEntries) = ([], 0) }
            return waiters
        }

        var count: Int { (page?.count ?? 0) + waitingEntries }
        var entries: [AuditEntry] { (page?.entries ?? []) + waiters.compactMap(\.entry) }
        var isEmpty: Bool { page == nil && waiters.isEmpty }
    }

    private struct State {
        var next = Group()
        /// Entries being written, and after a failure those to be written again.
        var inFlight = Group()
        var isWriting = false
        /// When the first unwritten entry was recorded.
        var since: ContinuousClock.Instant?
        /// The error of the last group, and the time of the next attempt.
        var failure: (error: any Error, until: ContinuousClock.Instant)?

        var count: Int { next.count + inFlight.count }
    }

    /// Time for which entries are collected into one batch.
    private static let interval = Duration.milliseconds(20)
    /// Time for which callers continue without a completed write.
    private static let patience = Duration.milliseconds(250)
    /// Delay before a failed write is retried.
    private static let pause = Duration.seconds(1)
    /// Entries not written yet whose callers may have gone on.
    private static let limit = 8192

    private let database: any Database
    private let chain: AuditChain
    private let state = Locked(State())

    init(database: any Database, chain: AuditChain) {
        self.database = database
        self.chain = chain
    }

    /// Number of unwritten entries.
    package var waiting: Int { state.withLock(\.count) }

    /// Entries that are not known to be written.
    var unwritten: [AuditEntry] {
        let (inFlight, next) = state.withLock { ($0.inFlight, $0.next) }
        return inFlight.entries + next.entries
    }

    /// - Throws: the database's error when the log cannot be written.
    func requireWritable() throws {
        if let failure = state.withLock(\.failure) { throw failure.error }
    }

    /// Records an entry; for the parameters, see ``AuditActor/entry(_:on:at:outcome:reason:)``.
    ///
    /// - Throws: the database's error when the log cannot be written; the entry is then discarded.
    package func record(
        _ action: String,
        on subject: String,
        by actor: AuditActor,
        at moment: Instant,
        outcome: AuditEntry.Outcome = .allowed,
        reason: String = ""
    ) async throws {
        let now = ContinuousClock.now
        let (mustWait, mustStart) = try state.withLock { state -> (Bool, Bool) in
            if let failure = state.failure { throw failure.error }
            let isSlow = state.since.map { now - $0 > Self.patience } ?? false
            guard !isSlow, state.count < Self.limit else { return (true, false) }
            if state.next.page == nil { state.next.page = AuditPage(at: moment) }
            state.next.page?.append(action, on: subject, by: actor, at: moment, outcome: outcome, reason: reason)
            if state.since == nil { state.since = now }
            defer { state.isWriting = true }
            return (false, !state.isWriting)
        }
        if mustStart { start() }
        if mustWait { try await wait(with: actor.entry(action, on: subject, at: moment, outcome: outcome, reason: reason)) }
    }

    /// Returns once all that was recorded before is durable.
    ///
    /// - Throws: the database's error when it cannot be made so now.
    package func settle() async throws {
        let isThere = try state.withLock { state in
            if let failure = state.failure { throw failure.error }
            return state.isWriting
        }
        if isThere { try await wait(with: nil) }
    }

    private func wait(with entry: AuditEntry?) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                state.next.add(Waiter(entry: entry, continuation: continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { start() }
        }
    }

    private func start() {
        Task {
            while await writeGroup() {}
        }
    }

    /// Writes what has come; false if there is nothing any more.
    private func writeGroup() async -> Bool {
        let (failure, isAwaited) = state.withLock { ($0.failure, !$0.next.waiters.isEmpty) }
        if let failure {
            try? await Task.sleep(until: failure.until)
        } else if !isAwaited {
            try? await Task.sleep(for: Self.interval)
        }
        let group = state.withLock { state -> Group in
            // What failed comes first, as it was.
            if state.inFlight.isEmpty {
                state.inFlight = state.next
                state.next = Group()
            }
            state.isWriting = !state.inFlight.isEmpty
            if !state.isWriting {
                // The failed caller has its error and nothing was kept: the next caller tries again.
                state.since = nil
                state.failure = nil
            }
            return state.inFlight
        }
        guard !group.isEmpty else { return false }
        do {
            // After a failure, the outcome of the commit is unknown.
            try await write(group, again: failure != nil)
            state.withLock { state in
                state.failure = nil
                state.inFlight = Group()
                state.since = state.next.isEmpty ? nil : .now
            }
            for waiter in group.waiters { waiter.continuation.resume() }
        } catch {
            let failed = state.withLock { state in
                let failed = state.inFlight.removeWaiters() + state.next.removeWaiters()
                // Nothing can be written any more.
                if (error as? StoreError)?.code == .closed { (state.inFlight, state.next) = (Group(), Group()) }
                state.failure = (error, .now + Self.pause)
                return failed
            }
            for waiter in failed { waiter.continuation.resume(throwing: error) }
        }
        return true
    }

    /// Writes a group, and seals it if that delays no other writer.
    ///
    /// In PostgreSQL, where other nodes change the log at the same time, and if no valid chain exists, sealing is left to
    /// ``Audit/seal()``, which reports what is wrong.
    private func write(_ group: Group, again: Bool) async throws {
        let (chain, isAlone) = (chain, database.engine == .sqlite)
        let (gathered, waiting) = (group.page?.rows ?? [], group.waiters.compactMap(\.entry).map { AuditRow(entry: $0) })
        let last = try await database.write { transaction -> AuditHead.Mark? in
            let isThere = try again && gathered.first.map { try AuditStore.isThere($0.entry.id, in: transaction) } ?? false
            let rows = isThere ? waiting : gathered + waiting
            var marks: [AuditHead.Mark] = []
            do {
                if isAlone { marks = try chain.marks(of: rows.map(\.entry), in: transaction) }
            } catch is ServerError {
                // sealing says so
            }
            for (index, row) in rows.enumerated() {
                try AuditStore.append(row, marks.isEmpty ? nil : marks[index], in: transaction)
            }
            return marks.last
        }
        if let last { chain.saw(last) }
    }
}
