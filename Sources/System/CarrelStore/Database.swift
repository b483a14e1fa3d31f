// SPDX-License-Identifier: Apache-2.0

/// The database of a service: SQLite in a file, or PostgreSQL.
///
/// One interaction is one transaction. Closures are synchronous and run on the database's own threads, so they must not
/// block on anything else; they may run more than once, so they have no effects outside the transaction.
package protocol Database: Sendable {
    /// The database engine.
    var engine: DatabaseEngine { get }

    /// Runs `body` in a serializable transaction and returns once its changes are durable.
    ///
    /// An error of `body` undoes its changes, and only its changes, and is thrown here.
    @discardableResult
    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body` on one consistent snapshot. A statement that would write throws `store.readOnly`.
    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body`, a few look-ups by key, on one consistent snapshot: SQLite runs on the calling thread within some
    /// microseconds, about as long as a thread switch; PostgreSQL, which needs the network, on a dedicated thread.
    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body`, which reads many rows, like ``read(_:)`` on separate threads, so that other reads never wait for it.
    ///
    /// - Throws: `store.busy` if too many wait, `CancellationError` if the task was cancelled before `body` started.
    func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Reports changes until the database is closed: its own changes before ``write(_:)`` returns, others' when
    /// ``detectExternalChanges()`` finds them.
    ///
    /// - Returns: false if the engine cannot tell; then its content must not be cached.
    func watch(_ watch: RowChangeObserver) async throws -> Bool

    /// Notifies observers that anything may have changed, if another process has changed anything since the last call.
    func detectExternalChanges() async throws

    /// Makes deleted data unreadable in the files of the database, including its log. A remote engine does so on its own
    /// schedule.
    ///
    /// - Returns: false if a reader or another process still needs the log: try again later.
    func expunge() async throws -> Bool

    /// Checks that the database responds and accepts writes.
    ///
    /// - Throws: the problem: `store.unavailable`, `store.readOnly`, `store.full`. Detecting a hanging server may take seconds.
    func probe() async throws

    /// Throws unless the engine accepts the statement verbatim; runs nothing.
    func prepareCheck(_ sql: SQL) async throws

    /// Completes pending calls, then closes. Later calls throw `store.closed`.
    func close() async
}

extension Database {
    package func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        try await read(body)
    }

    package func watch(_ watch: RowChangeObserver) async throws -> Bool { false }

    package func detectExternalChanges() async throws {}

    package func expunge() async throws -> Bool { true }

    package func probe() async throws {
        _ = try await read { try $0.row(MigrationPlan.select) }
    }
}
