import CarrelStore
import CarrelThreads

/// Connections that wait for their next transaction.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var isClosed = false
    }

    private let address: String
    private let idleLimit: Int
    private let state = Locked(State())

    init(address: String, idleLimit: Int) {
        self.address = address
        self.idleLimit = idleLimit
    }

    /// An idle connection, or a new one.
    func take() throws(StoreError) -> PostgresConnection {
        let (idle, isClosed) = state.withLock { ($0.idle.popLast(), $0.isClosed) }
        if isClosed { throw StoreError(.closed, "the database is closed") }
        return if let idle { idle } else { try PostgresConnection(address) }
    }

    /// Keeps a connection for the next, unless it is lost, in the middle of something, or one too many.
    func giveBack(_ connection: PostgresConnection) {
        connection.endTransaction()
        guard connection.isReusable else { return }
        connection.forgetFailure()
        state.withLock { state in
            if !state.isClosed, state.idle.count < idleLimit { state.idle.append(connection) }
        }
    }

    /// Forgets all idle connections: the server that made them has gone.
    func discardIdle() {
        state.withLock { $0.idle.removeAll() }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.idle.removeAll()
        }
    }
}
