import CarrelStore
import CarrelThreads

/// Transactions that wait for one of the threads.
final class PostgresQueue: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let threads: BlockingThreads
    private let state = Locked(State())
    /// Calls that may wait; more are refused with `store.busy`, so that memory stays bounded.
    private let limit = 16384
    /// How long one may wait for a thread before it is refused with `store.busy`: its caller has better things to do.
    private static let patience = Duration.seconds(10)

    init(threads: Int) {
        self.threads = BlockingThreads(name: "postgres", count: threads)
    }

    /// Runs `work` on one of the threads.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        let refusal: StoreError? = state.withLock { state in
            if state.isClosed { return StoreError(.closed, "the database is closed") }
            if state.count >= limit { return StoreError(.busy, "too many transactions wait") }
            state.count += 1
            return nil
        }
        if let refusal { throw refusal }
        defer { leave() }
        let asked = ContinuousClock.now
        return try await threads.run {
            guard .now - asked < Self.patience else { throw StoreError(.busy, "no connection to the database was free in time") }
            return try work()
        }
    }

    /// Refuses new work and returns when all that was asked before is answered.
    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.count > 0 { state.closers.append(continuation) }
                return state.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func leave() {
        let closers: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
