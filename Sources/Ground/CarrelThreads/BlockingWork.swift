// SPDX-License-Identifier: Apache-2.0

/// Work on a thread that may block: cancelling the work ends its wait.
package final class BlockingWork: Sendable {
    /// The work that this thread does.
    @TaskLocal package static var current: BlockingWork?

    private struct State {
        var isCancelled = false
        /// Ends the wait.
        var interrupt: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Work that waits for nothing yet.
    package init() {}

    /// Cancels what the work waits for, now and later.
    package func cancel() {
        let interrupt = state.withLock { state in
            state.isCancelled = true
            return state.interrupt
        }
        interrupt?()
    }

    /// Whether the work was cancelled.
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    private func setInterrupt(_ interrupt: (@Sendable () -> Void)?) {
        let isCancelled = state.withLock { state in
            state.interrupt = interrupt
            return state.isCancelled
        }
        if isCancelled { interrupt?() }
    }

    /// Runs an asynchronous operation on other threads, and waits for it. Blocks: never on threads that run tasks.
    ///
    /// - Parameter operation: the operation; cancelled with the work of this thread.
    /// - Returns: the operation's result; nil if there are too many open files for a wait.
    /// - Throws: the operation's error.
    package static func wait<Result: Sendable>(for operation: @escaping @Sendable () async throws -> Result) throws -> Result? {
        guard let signal = BlockingSignal() else { return nil }
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        let task = Task {
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await operation()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            signal.signal()
        }
        let work = current
        work?.setInterrupt { task.cancel() }
        signal.wait()
        work?.setInterrupt(nil)
        return try outcome.withLock { $0 }?.get()
    }
}
