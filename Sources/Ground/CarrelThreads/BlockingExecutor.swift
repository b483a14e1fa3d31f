// SPDX-License-Identifier: Apache-2.0

/// Threads for tasks whose work blocks, though some of it is asynchronous: the threads that run all other tasks never do.
package final class BlockingExecutor: TaskExecutor {
    // a refused job would never end: the queue holds any number of tasks
    private let threads: BlockingThreadPool

    /// - Parameters:
    ///   - name: the threads' name.
    ///   - count: the number of threads.
    ///   - starter: starts the threads.
    package init(name: String, count: Int, starter: ThreadStarter = .system) {
        threads = BlockingThreadPool(name: name, count: count, limit: .max, starter: starter)
    }

    /// Whether a thread does the work; where none does, tasks run on the threads of all others.
    package var hasThread: Bool { threads.hasThread }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try threads.start { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        } catch {
            // the system refused every thread, and a job that does not run would never end
            globalConcurrentExecutor.enqueue(job)
        }
    }

    /// Runs work on the threads.
    ///
    /// - Parameter work: the work; operations that it awaits run elsewhere.
    /// - Returns: the result of `work`.
    /// - Throws: errors of `work`.
    @concurrent
    package func run<Result: Sendable>(_ work: @Sendable @concurrent () async throws -> Result) async throws -> Result {
        defer { withExtendedLifetime(self) {} }
        return try await withTaskExecutorPreference(self) { try await work() }
    }
}
