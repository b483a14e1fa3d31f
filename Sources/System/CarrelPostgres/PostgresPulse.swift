// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelThreads
import Glibc

/// Monitors whether the server responds, with a connection and a dedicated thread, so that hanging transactions do not hide it.
///
/// It checks on demand, and then repeatedly until the server responds.
final class PostgresPulse: Sendable {
    /// The result of a check.
    private struct Finding {
        /// The database's problem: unreachable, refusing new connections, or read-only.
        var trouble: StoreError?
        /// Whether the server does not answer at all.
        var isAway = false
    }

    private static let silence = Finding(trouble: StoreError(.unavailable, "the database does not answer"), isAway: true)

    private struct State {
        var finding = Finding()
        /// Whether a look is under way or to come.
        var isLooking = false
        var isClosed = false
        var waiting: [CheckedContinuation<StoreError?, Never>] = []
        var connection: PostgresConnection?
    }

    private let address: String
    private let state = Locked(State())
    private let thread = BlockingThreadPool(name: "postgres-pulse", count: 1)

    /// The longest wait for a check: a busy server takes longer than an idle one.
    private static let limit = Duration.seconds(3)
    /// Microseconds between looks for a server that is away.
    private static let pause: UInt32 = 500_000
    private static let takesWrites = SQL(
        """
        SELECT CASE WHEN pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' THEN 0 ELSE 1 END
        """
    )

    init(address: String) {
        self.address = address
    }

    /// The reason why the server is unreachable; nil while it responds, as far as known.
    var outage: StoreError? { state.withLock { $0.finding.isAway ? $0.finding.trouble : nil } }

    /// Whether the server does not answer, as far as is known; starts a new look.
    @Sendable func isServerAway() -> Bool {
        lookSoon()
        return outage != nil
    }

    /// Looks, unless a look is under way; does not wait for it.
    func lookSoon() {
        let mustStart = state.withLock { state in
            if state.isLooking || state.isClosed { return false }
            state.isLooking = true
            return true
        }
        if mustStart { start() }
    }

    /// Checks the database and returns its problem; nil if it responds and accepts writes.
    func look() async -> StoreError? {
        if let outage { return outage }  // looked for all the time
        return await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.waiting.append(continuation) }
                return state.isClosed
            }
            if isClosed { return continuation.resume(returning: StoreError(.closed, "the database is closed")) }
            lookSoon()
        }
    }

    func close() {
        let (connection, waiting) = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return (state.connection.take(), state.waiting)
        }
        _ = connection
        for continuation in waiting { continuation.resume(returning: StoreError(.closed, "the database is closed")) }
    }

    // MARK: On the thread

    private func start(after pause: UInt32 = 0) {
        // One look at most waits, so that the queue always has room.
        try? thread.start { [weak self] in
            usleep(pause)
            self?.work()
        }
    }

    private func work() {
        let finding = find()
        let (waiting, mustGoOn) = state.withLock { state in
            state.finding = finding
            state.isLooking = finding.isAway && !state.isClosed
            defer { state.waiting = [] }
            return (state.waiting, state.isLooking)
        }
        for continuation in waiting { continuation.resume(returning: finding.trouble) }
        if mustGoOn { start(after: Self.pause) }
    }

    private func find() -> Finding {
        // A session that is older than the last change of the server's settings does not know it: a refusal is looked at twice.
        if let connection = state.withLock({ $0.connection.take() }) {
            if let finding = ask(connection), finding.trouble == nil { return finding }
            if connection.isAbandoned { return Self.silence }
        }
        guard PostgresConnection.isAnswering(address) else { return Self.silence }
        do throws(StoreError) {
            return ask(try PostgresConnection(address, connectLimit: 2, answerLimit: Self.limit)) ?? Self.silence
        } catch {
            // It responds with a refusal, for example that it has no connection left. Open connections may continue.
            return Finding(trouble: error)
        }
    }

    /// Checks on one connection, and keeps it if it responds; nil if it does not.
    private func ask(_ connection: PostgresConnection) -> Finding? {
        guard let takesWrites = try? connection.row(Self.takesWrites)?.integer(0) else { return nil }
        guard takesWrites == 1 else { return Finding(trouble: StoreError(.readOnly, "the database takes no writes")) }
        state.withLock { if !$0.isClosed { $0.connection = connection } }
        return Finding()
    }
}
