// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelThreads

/// Transactions that wait for one of the threads.
final class PostgresQueue: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let threads: BlockingThreadPool
    /// Threads for what looks at many rows.
    private let searches: BlockingThreadPool
    private let state = Locked(State())
    /// The longest wait for a thread before work is refused with `store.busy`.
    private static let patience = Duration.seconds(10)

    /// - Parameters:
    ///   - threads: the number of concurrent transactions.
    ///   - searches: the threads among them for queries over many rows.
    init(threads: Int, searches: Int) {
        self.threads = BlockingThreadPool(name: "postgres", count: threads - searches, limit: 16384)
        self.searches = BlockingThreadPool(name: "postgres-search", count: searches, limit: SearchQueue.limit)
    }

    /// Runs `work` on one of the threads; throws `store.busy` when too much waits.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await runCounted {
            try await StoreError.refusing("too many transactions wait") { try await threads.run(Self.timely(work)) }
        }
    }

    /// Runs `work` on dedicated threads, unless the task is cancelled before; throws `store.busy` when too much waits.
    func search<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await runCounted {
            try await StoreError.refusing("too many searches wait") {
                try await searches.runUnlessCancelled(Self.timely(work))
            }
        }
    }

    /// The work, unless it waits too long for its thread.
    private static func timely<T>(_ work: @escaping @Sendable () throws -> T) -> @Sendable () throws -> T {
        let start = ContinuousClock.now
        return {
            guard .now - start < patience else { throw StoreError(.busy, "no connection to the database was free in time") }
            return try work()
        }
    }

    private func runCounted<T>(_ body: () async throws -> T) async throws -> T {
        let refusal: StoreError? = state.withLock { state in
            if state.isClosed { return StoreError(.closed, "the database is closed") }
            state.count += 1
            return nil
        }
        if let refusal { throw refusal }
        defer { leave() }
        return try await body()
    }

    /// Refuses new work and returns when all earlier work is done.
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
