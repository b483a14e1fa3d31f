// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CarrelThreads

/// The one writing connection, on a dedicated thread, with group commit.
///
/// All waiting jobs run in one transaction and get their results after one commit. A job that throws only loses its own changes:
/// if it has changed something, the group is rolled back, and runs again with each job in a savepoint. Savepoints cost a copy of
/// every page that a job changes, so groups do without them until then.
final class SQLiteWriter: @unchecked Sendable {  // `connection` is touched on `thread` only
    private struct Queue {
        var waiting: [any WriteJob] = []
        var isDraining = false
        var isClosed = false
    }

    private var connection: SQLiteConnection?
    private let thread = BlockingThreadPool(name: "sqlite-write", count: 1)
    /// The observers of changes. Touched on `thread` only, as the next.
    private var watchers: [@Sendable (RowChangeObserver.Changes) -> Void] = []
    /// Groups from now on whose jobs have savepoints.
    private var carefulGroups = 0
    /// The last value of ``SQLiteConnection/othersVersion()``.
    private var othersVersion: Int64 = 0
    private let queue = Locked(Queue())
    private let counts = Locked(SQLiteCounters())
    private let lastTrouble = Locked(WriteTrouble())
    /// Jobs that may wait; more are refused with `store.busy`, so that memory stays bounded.
    private let queueLimit = 16384
    /// The maximum number of jobs in one commit, so that the first does not wait forever.
    private let groupLimit = 512
    /// The number of groups with savepoints after a rollback, so that throwing jobs cost others little.
    private let carefulLimit = 64

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// The work done so far.
    var counters: SQLiteCounters { counts.withLock { $0 } }

    /// The reason why writes fail, according to the last write.
    var trouble: StoreError? { lastTrouble.withLock { $0.current() } }

    /// Jobs that wait for their group.
    var waiting: Int { queue.withLock { $0.waiting.count } }

    /// Adds a job to the next group.
    func add(_ job: any WriteJob) {
        let (refusal, mustStart): (StoreError?, Bool) = queue.withLock { queue in
            if queue.isClosed { return (StoreError(.closed, "the database is closed"), false) }
            if queue.waiting.count >= queueLimit { return (StoreError(.busy, "too many writes wait"), false) }
            queue.waiting.append(job)
            defer { queue.isDraining = true }
            return (nil, !queue.isDraining)
        }
        if let refusal {
            job.answer(refusal)
        } else if mustStart {
            do throws(QueueFull) {
                try thread.start { self.drain() }
            } catch {
                let jobs = queue.withLock { queue in
                    queue.isDraining = false
                    defer { queue.waiting = [] }
                    return queue.waiting
                }
                fail(jobs, StoreError(.busy, "too many writes wait"))
            }
        }
    }

    /// Runs `body` on the writer's thread, between two groups and outside any transaction.
    func betweenGroups<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
    ) async throws -> Result {
        try await thread.run {
            guard let connection = self.connection else { throw StoreError(.closed, "the database is closed") }
            return try body(connection)
        }
    }

    /// Starts reporting changes.
    func watch(_ watch: RowChangeObserver) async throws {
        try await betweenGroups { connection in
            try connection.note(watch.triggers)
            if self.watchers.isEmpty { self.othersVersion = try connection.othersVersion() }
            self.watchers.append(watch.tell)
        }
    }

    /// Reports that anything may have changed, if another connection has committed.
    func detectExternalChanges() async throws {
        try await betweenGroups { connection in
            let version = try connection.othersVersion()
            guard version != self.othersVersion else { return }
            self.othersVersion = version
            self.tell(.any)
        }
    }

    /// Refuses new jobs, completes waiting ones, and closes the connection.
    func close() async {
        queue.withLock { $0.isClosed = true }
        try? await thread.run {
            while !self.queue.withLock({ $0.waiting.isEmpty }) { self.runGroup() }
            self.connection = nil
        }
    }

    // MARK: On the thread

    /// One group, then the thread's next work, so that a backup gets its turns while writes never pause.
    private func drain() {
        while true {
            runGroup()
            let isEmpty = queue.withLock { queue in
                queue.isDraining = !queue.waiting.isEmpty
                return !queue.isDraining
            }
            if isEmpty { return }
            // Where the thread's queue has no place for it, the next group follows immediately.
            do throws(QueueFull) { return try thread.start { self.drain() } } catch { continue }
        }
    }

    private func takeWaiting(atMost limit: Int) -> [any WriteJob] {
        queue.withLock { queue in
            if queue.waiting.count <= limit {
                var jobs: [any WriteJob] = []
                swap(&jobs, &queue.waiting)
                return jobs
            }
            let jobs = Array(queue.waiting.prefix(limit))
            queue.waiting.removeFirst(limit)
            return jobs
        }
    }

    private func runGroup() {
        var group: [any WriteJob] = []
        var remainder: ArraySlice<any WriteJob> = []
        let isCareful = carefulGroups > 0
        do throws(StoreError) {
            guard let connection else { return }
            connection.forgetFailure()
            let changes = connection.totalChanges
            try connection.run(Control.begin)
            remainder = takeWaiting(atMost: groupLimit)[...]
            while let job = remainder.popFirst() {
                group.append(job)
                switch try isCareful ? runs(job, connection) : runsWithoutSavepoint(job, connection) {
                case .kept: break
                case .alone:
                    // SQLite undid the whole group: the jobs before run again, without this one.
                    putBack(group.dropLast() + remainder)
                    return job.answer(nil)
                case .undone:
                    rollBack()
                    if group.count == 1 {
                        putBack(Array(remainder))
                        return job.answer(nil)
                    }
                    // it may have seen what others changed, so that it waits for them
                    carefulGroups = carefulLimit
                    return putBack(group + remainder)
                }
                if remainder.isEmpty { remainder = takeWaiting(atMost: groupLimit - group.count)[...] }
            }
            try connection.run(Control.commit)
            if isCareful { carefulGroups -= 1 }
            if connection.totalChanges != changes { lastTrouble.withLock { $0.end() } }
        } catch {
            note(error)
            rollBack()
            reportNotedChanges()  // whatever became of the commit
            fail(group.isEmpty ? takeWaiting(atMost: .max) : group + remainder, error)
            return
        }
        counts.withLock { [count = group.count] counts in
            counts.commits += 1
            counts.writes += count
        }
        reportNotedChanges()
        for job in group { job.answer(nil) }
        connection?.checkpointIfDue()
    }

    /// The state of the group after a job.
    private enum Outcome {
        /// The group continues.
        case kept
        /// SQLite ended the whole transaction because of it.
        case alone
        /// The transaction has changes of a job that threw.
        case undone
    }

    /// Runs one job in its savepoint.
    private func runs(_ job: any WriteJob, _ connection: SQLiteConnection) throws(StoreError) -> Outcome {
        job.failure = nil
        try connection.run(Control.savepoint)
        if !succeeds(job, connection) {
            guard connection.isInTransaction else { return .alone }
            try connection.run(Control.undoSavepoint)
        }
        try connection.run(Control.release)
        return .kept
    }

    /// Runs one job. A job that throws before it changed anything needs no savepoint.
    private func runsWithoutSavepoint(_ job: any WriteJob, _ connection: SQLiteConnection) -> Outcome {
        job.failure = nil
        let changes = connection.totalChanges
        if succeeds(job, connection) { return .kept }
        guard connection.isInTransaction else { return .alone }
        return connection.totalChanges == changes ? .kept : .undone
    }

    /// Runs a job and keeps its error.
    private func succeeds(_ job: any WriteJob, _ connection: SQLiteConnection) -> Bool {
        do {
            try job.run(in: connection)
            if let failure = connection.failure { throw failure }
            return true
        } catch {
            job.failure = error
            if let failure = connection.failure { note(failure) }
            connection.forgetFailure()
            return false
        }
    }

    private func reportNotedChanges() {
        if let changes = connection?.notedChanges.take() { tell(changes) }
    }

    private func tell(_ changes: RowChangeObserver.Changes) {
        for watcher in watchers { watcher(changes) }
    }

    private func note(_ failure: StoreError) {
        lastTrouble.withLock { $0.note(failure) }
    }

    private func putBack(_ jobs: [any WriteJob]) {
        queue.withLock { $0.waiting.insert(contentsOf: jobs, at: 0) }
    }

    private func fail(_ jobs: [any WriteJob], _ error: StoreError) {
        counts.withLock { $0.failures += 1 }
        for job in jobs { job.answer(error) }
    }

    private func rollBack() {
        guard let connection else { return }
        connection.forgetFailure()
        if connection.isInTransaction { _ = try? connection.run(Control.rollBack) }
        connection.forgetFailure()
    }

    private enum Control {
        static let begin = SQL("BEGIN IMMEDIATE")
        static let commit = SQL("COMMIT")
        static let rollBack = SQL("ROLLBACK")
        static let savepoint = SQL("SAVEPOINT job")
        static let undoSavepoint = SQL("ROLLBACK TO job")
        static let release = SQL("RELEASE job")
    }
}
