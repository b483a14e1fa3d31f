// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelThreads
import Glibc

/// Connections that wait for their next transaction.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var isClosed = false
    }

    private let address: String
    private let idleLimit: Int
    private let pulse: PostgresPulse
    private let state = Locked(State())
    /// The time for which refused connections are retried, for example while the server restarts or has none left.
    private static let patience = Duration.seconds(2)

    init(address: String, idleLimit: Int, pulse: PostgresPulse) {
        self.address = address
        self.idleLimit = idleLimit
        self.pulse = pulse
    }

    /// An idle connection, or a new one.
    ///
    /// - Throws: `store.unavailable` if there is none within two seconds, and immediately while the server is known to be
    ///   unresponsive.
    func take() throws(StoreError) -> PostgresConnection {
        let deadline = ContinuousClock.now + Self.patience
        var pause: UInt32 = 20_000
        while true {
            let (idle, isClosed) = state.withLock { ($0.idle.popLast(), $0.isClosed) }
            if isClosed { throw StoreError(.closed, "the database is closed") }
            if let outage = pulse.outage { throw outage }
            if let idle { return idle }
            do throws(StoreError) {
                return try PostgresConnection(address, isServerAway: pulse.isServerAway)
            } catch {
                guard error.code == .unavailable, ContinuousClock.now + .microseconds(Int64(pause)) < deadline else {
                    pulse.lookSoon()
                    throw error
                }
            }
            usleep(pause)
            pause *= 2
        }
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
