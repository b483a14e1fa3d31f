// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Reading connections: one for each concurrent read, kept for the next.
final class SQLiteReaders: Sendable {
    private struct Pool {
        var idle: [SQLiteConnection] = []
        var isClosed = false
    }

    private let path: String
    private let patience: Int
    private let pool = Locked(Pool())
    private let idleLimit = 16

    init(path: String, patience: Int) {
        self.path = path
        self.patience = patience
    }

    /// Runs `body` in a read transaction on the calling thread.
    func read<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
        let connection = try take()
        defer { giveBack(connection) }
        try connection.run(Control.begin)
        let result = try body(connection)
        if let failure = connection.failure { throw failure }
        return result
    }

    /// Runs `body` with a connection, outside any transaction.
    func withConnection<Result>(_ body: (SQLiteConnection) throws(StoreError) -> Result) throws(StoreError) -> Result {
        let connection = try take()
        defer { giveBack(connection) }
        return try body(connection)
    }

    /// Closes the idle connections; those in use are closed when they come back.
    func close() {
        pool.withLock { pool in
            pool.isClosed = true
            pool.idle.removeAll()
        }
    }

    private func take() throws(StoreError) -> SQLiteConnection {
        let (idle, isClosed) = pool.withLock { ($0.idle.popLast(), $0.isClosed) }
        if isClosed { throw StoreError(.closed, "the database is closed") }
        if let idle { return idle }
        return try SQLiteConnection(path: path, mode: .read, patience: patience)
    }

    private func giveBack(_ connection: SQLiteConnection) {
        connection.forgetFailure()
        if connection.isInTransaction {
            // Ending a transaction that read cannot fail in a way that matters; if it does, the connection is dropped.
            do throws(StoreError) { try connection.run(Control.end) } catch { return }
        }
        pool.withLock { pool in
            if !pool.isClosed, pool.idle.count < idleLimit { pool.idle.append(connection) }
        }
    }

    private enum Control {
        static let begin = SQL("BEGIN")
        static let end = SQL("ROLLBACK")
    }
}
