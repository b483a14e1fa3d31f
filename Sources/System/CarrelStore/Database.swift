// SPDX-License-Identifier: Apache-2.0

/// The database of a service: SQLite in a file, or PostgreSQL.
///
/// One interaction is one transaction. Closures are synchronous and run on the database's own threads, so they must not
/// block on anything else; they may run more than once, so they have no effects outside the transaction.
package protocol Database: Sendable {
    /// Which engine answers.
    var engine: DatabaseEngine { get }

    /// Runs `body` in a serializable transaction and returns once its changes are durable.
    ///
    /// An error of `body` undoes its changes, and only its changes, and is thrown here.
    @discardableResult
    func write<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body` on one consistent snapshot. A statement that would write throws `store.readOnly`.
    func read<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body`, a few look-ups by key, on one consistent snapshot: SQLite answers on the calling thread within some
    /// microseconds, which a thread's change would cost too; PostgreSQL, which is a network away, on a dedicated thread.
    func readBriefly<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Runs `body`, which reads many rows, like ``read(_:)`` on separate threads, so that other reads never wait for it.
    ///
    /// - Throws: `store.busy` if too many wait, `CancellationError` if the task was cancelled before `body` started.
    func search<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T

    /// Tells of changes until the database is closed: of those that are made through it before ``write(_:)`` returns, of others'
    /// when ``detectExternalChanges()`` finds them.
    ///
    /// - Returns: false if the engine cannot tell; then nothing that it holds may be remembered.
    func watch(_ watch: RowChangeObserver) async throws -> Bool

    /// Tells those who watch that anything may have changed, if another process has changed anything since this was asked last.
    func detectExternalChanges() async throws

    /// Makes what was deleted before unreadable in the files of the database too, its log among them. An engine that is elsewhere
    /// does so in its own time.
    ///
    /// - Returns: false if a reader or another process needs the log still: try again later.
    func expunge() async throws -> Bool

    /// Asks whether the database answers and takes writes.
    ///
    /// - Throws: what is wrong: `store.unavailable`, `store.readOnly`, `store.full`. A server that hangs may take seconds to be
    ///   found out.
    func probe() async throws

    /// Throws unless the engine accepts the statement verbatim; runs nothing.
    func prepareCheck(_ sql: SQL) async throws

    /// Answers what was already asked, then closes. Later calls throw `store.closed`.
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
