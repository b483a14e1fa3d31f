/// Threads for tasks whose work blocks, though some of it is asynchronous: the threads that run all other tasks never do.
package final class BlockingExecutor: TaskExecutor {
    // a job that is not taken would never end: as many wait as there are tasks
    private let threads: BlockingThreadPool

    /// - Parameters:
    ///   - name: of the threads.
    ///   - count: how many there are.
    package init(name: String, count: Int) {
        threads = BlockingThreadPool(name: name, count: count, limit: .max)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try threads.start { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        } catch {
            preconditionFailure("the queue has no limit")
        }
    }

    /// Runs work on the threads.
    ///
    /// - Parameter work: what to do; what it waits for runs elsewhere.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws.
    @concurrent
    package func run<Result: Sendable>(_ work: @Sendable @concurrent () async throws -> Result) async throws -> Result {
        defer { withExtendedLifetime(self) {} }
        return try await withTaskExecutorPreference(self) { try await work() }
    }
}
