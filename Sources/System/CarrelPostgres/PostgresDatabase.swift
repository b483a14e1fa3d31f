// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore
import CarrelThreads

/// A database on a PostgreSQL server, shared by any number of programs.
///
/// Writes are serializable transactions that are run again when others were in the way, so their closures may run more than
/// once. `ORDER BY` of text follows the database's collation: create it with the collation `C` for the order that SQLite has.
package final class PostgresDatabase: Database {
    private let pool: PostgresPool
    private let queue: PostgresQueue
    private let patience: Duration
    private let pulse: PostgresPulse
    /// The error of the last write, if the server is full or read-only; nil otherwise.
    private let writeTrouble = Locked(WriteTrouble())

    /// Connects and brings the schema up to date; if several programs start together, one does it and the others wait.
    ///
    /// - Parameters:
    ///   - address: `postgres://user:password@host/database`, or `key=value` pairs (PostgreSQL §34.1.1).
    ///   - migrations: the whole schema, step by step.
    ///   - connections: all connections that are open at the same time, at least 3: one checks whether the server responds, a
    ///     quarter of
    ///     them (one or two) is for searches, and the others are for all other transactions, each with a dedicated thread.
    ///   - patience: how long a write is retried before it fails with `store.busy`.
    ///   - clock: the clock for the time recorded with each applied migration.
    /// - Throws: `store.unavailable` if the server cannot be reached; schema errors like `SQLiteDatabase`.
    package init(
        _ address: String,
        migrations: [Migration],
        connections: Int = 8,
        patience: Duration = .seconds(10),
        clock: any WallClock = SystemClock()
    ) throws(StoreError) {
        precondition(connections >= 3, "a database needs a connection each for transactions, searches and the pulse")
        let plan = try MigrationPlan(migrations, for: .postgresql)
        pulse = PostgresPulse(address: address)
        // Without the pulse, which would end a migration on a server that is only slow.
        try PostgresConnection(address).migrate(plan, clock: clock)
        let transactions = connections - 1
        pool = PostgresPool(address: address, idleLimit: transactions, pulse: pulse)
        pool.giveBack(try PostgresConnection(address, isServerAway: pulse.isServerAway))
        queue = PostgresQueue(threads: transactions, searches: max(1, min(2, connections / 4)))
        self.patience = patience
    }

    package var engine: DatabaseEngine { .postgresql }

    @discardableResult
    package func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await queue.run { [self] in try transaction(isRead: false, body) }
    }

    package func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await queue.run { [self] in try transaction(isRead: true, body) }
    }

    package func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await queue.search { [self] in try transaction(isRead: true, body) }
    }

    package func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await read(body)
    }

    package func prepareCheck(_ sql: SQL) async throws {
        try await queue.run { [pool] in
            let connection = try pool.take()
            defer { pool.giveBack(connection) }
            try connection.prepareCheck(sql)
        }
    }

    /// Queries the server on a separate connection, independent of others.
    package func probe() async throws {
        if let trouble = await pulse.look() { throw trouble }
        let trouble = writeTrouble.withLock { trouble in
            trouble.endReadOnly()  // the server has just said that it takes writes
            return trouble.current()
        }
        if let trouble { throw trouble }
    }

    package func close() async {
        await queue.close()
        pool.close()
        pulse.close()
    }

    // MARK: On a thread

    /// Runs `body` in a transaction, again when others were in the way or a connection was lost before the commit.
    private func transaction<T>(isRead: Bool, _ body: (any Transaction) throws -> T) throws -> T {
        let begin: StaticString =
            isRead ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL SERIALIZABLE"
        let deadline = ContinuousClock.now + patience
        var attempt = PostgresAttempt()
        while true {
            let connection = try pool.take()
            defer { pool.giveBack(connection) }
            do {
                connection.beginLater(begin, writing: !isRead)
                let result = try body(connection)
                if let failure = connection.failure { throw failure }
                if isRead {
                    connection.endRead()
                } else {
                    attempt.isCommitting = true
                    try connection.commit()
                    if connection.changes > 0 { writeTrouble.withLock { $0.end() } }
                }
                return result
            } catch {
                if !connection.isAlive || connection.isMisplaced { pool.discardIdle() }
                guard attempt.mayRepeat(after: connection) else {
                    if !isRead { note(connection.failure) }
                    throw attempt.outcome(of: error, connection)
                }
                if ContinuousClock.now >= deadline { throw connection.failure ?? error }
                connection.endTransaction()
                attempt.pause()
            }
        }
    }

    private func note(_ failure: StoreError?) {
        if let failure { writeTrouble.withLock { $0.note(failure) } }
    }
}
