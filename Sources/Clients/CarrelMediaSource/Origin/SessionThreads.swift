// SPDX-License-Identifier: Apache-2.0

package import CarrelThreads

/// The threads that the sessions of a proxy share beyond those that each has for itself.
package final class SharedThreads: Sendable {
    private let free: Locked<Int>
    package let starter: ThreadStarter

    /// - Parameters:
    ///   - limit: threads of all sessions together, beyond those that each has for itself.
    ///   - starter: starts the threads.
    package init(limit: Int, starter: ThreadStarter) {
        free = Locked(limit)
        self.starter = starter
    }

    package func take() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    package func giveBack() { free.withLock { $0 += 1 } }
}

/// The threads of one session for calls that block: reading a file of a server waits for that server.
///
/// Each job has its own thread, so that it does not wait for another session. A few threads are reserved for the session; more
/// come from a shared pool. Beyond that, jobs are refused.
package final class SessionThreads: Sendable {
    private struct State {
        var running: [ObjectIdentifier: BlockingWork] = [:]
        /// Jobs on a thread of the shared pool.
        var shared: Set<ObjectIdentifier> = []
        /// The thread for computation whose cost depends on the source.
        var computing: BlockingExecutor?
        var isEnded = false
    }

    private let share: SharedThreads
    private let state = Locked(State())

    /// Threads that every session has.
    package static let own = 2
    /// Threads of a session, at most.
    package static let limit = 16

    package init(_ share: SharedThreads) {
        self.share = share
    }

    /// The work that is under way.
    package var count: Int { state.withLock { $0.running.count } }

    // MARK: - Work

    /// Runs a job on its own thread.
    ///
    /// - Parameter body: the job. Its waits end when the task is cancelled.
    /// - Returns: the result of the job.
    /// - Throws: the errors of the job; `proxy.busy` if there are too many threads.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let work = BlockingWork()
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                do {
                    try start(work) {
                        let result = Swift.Result(catching: body)
                        outcome.withLock { $0 = result }
                    } finish: {
                        unsafe continuation.resume()
                    }
                } catch {
                    outcome.withLock { $0 = .failure(error) }
                    unsafe continuation.resume()
                }
            }
        } onCancel: {
            work.cancel()
        }
        try Task.checkCancellation()
        guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }

    /// Starts a job on its own thread and returns immediately.
    ///
    /// - Parameters:
    ///   - work: cancelling it ends the waits of the body.
    ///   - body: the job.
    ///   - finish: delivers the result. The job's thread is free for other jobs by then.
    /// - Throws: `proxy.busy` if there are too many threads.
    package func start<Outcome>(
        _ work: BlockingWork,
        _ body: @escaping @Sendable () -> Outcome,
        finish: @escaping @Sendable (Outcome) -> Void = { _ in }
    ) throws(ProxyError) {
        try begin(work)
        do throws(ThreadRefused) {
            try share.starter.start(name: "carrel-file") { [self] in
                let outcome = BlockingWork.$current.withValue(work, operation: body)
                end(work)
                finish(outcome)
            }
        } catch {
            end(work)
            throw ProxyError(error, in: "the source")
        }
    }

    /// Runs a job that blocks, and waits for tasks in between, on its own thread.
    ///
    /// - Parameter body: the job. Its waits end when the task is cancelled.
    /// - Returns: the result of the job.
    /// - Throws: the errors of the job; `proxy.busy` if there are too many threads.
    package func runTask<Result: Sendable>(_ body: @Sendable @concurrent () async throws -> Result) async throws -> Result {
        let work = BlockingWork()
        try begin(work)
        defer { end(work) }
        let executor = BlockingExecutor(name: "carrel-file", count: 1, starter: share.starter)
        guard executor.hasThread else { throw ProxyError(.busy, "the system has no thread for the source") }
        return try await withTaskCancellationHandler {
            try await BlockingWork.$current.withValue(work) { try await executor.run(body) }
        } onCancel: {
            work.cancel()
        }
    }

    /// Runs computation whose cost depends on the source: manifests, playlists, indexes, subtitles.
    ///
    /// The session has one thread for all of it, so that it does not delay other sessions or the app's tasks. A job that awaits
    /// something releases the thread. If the system refuses the thread, the job runs on the default executor.
    /// - Parameter body: the job; its loops check for cancellation.
    /// - Returns: the result of the job.
    /// - Throws: the errors of the job; `proxy.ended` after the session.
    package func compute<Result: Sendable>(_ body: @Sendable @concurrent () async throws -> Result) async throws -> Result {
        let executor = try state.withLock { state throws(ProxyError) in
            guard !state.isEnded else { throw ProxyError(.ended, "the session has ended") }
            let executor = state.computing ?? BlockingExecutor(name: "carrel-list", count: 1, starter: share.starter)
            state.computing = executor
            return executor
        }
        return try await executor.run(body)
    }

    // MARK: - Bounds

    private func begin(_ work: BlockingWork) throws(ProxyError) {
        try state.withLock { state throws(ProxyError) in
            guard !state.isEnded else { throw ProxyError(.ended, "the session has ended") }
            let id = ObjectIdentifier(work)
            if state.running.count - state.shared.count >= Self.own {
                guard state.running.count < Self.limit, share.take() else {
                    throw ProxyError(.busy, "too many requests of the session wait for its source")
                }
                state.shared.insert(id)
            }
            state.running[id] = work
        }
    }

    private func end(_ work: BlockingWork) {
        let wasShared = state.withLock { state in
            state.running[ObjectIdentifier(work)] = nil
            return state.shared.remove(ObjectIdentifier(work)) != nil
        }
        if wasShared { share.giveBack() }
    }

    /// Cancels all work, and takes no more.
    package func end() {
        let running = state.withLock { state in
            state.isEnded = true
            // its thread ends with the work that it has
            state.computing = nil
            return state.running.values
        }
        for work in running { work.cancel() }
    }
}
