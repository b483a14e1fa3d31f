import CarrelThreads

/// One thread for work that blocks, though some of it is asynchronous.
final class BlockingExecutor: TaskExecutor {
    private let pool: BlockingThreadPool

    private init(name: String) {
        pool = BlockingThreadPool(name: name, count: 1)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // one task at a time: the queue is never full
        do { try pool.start { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) } } catch {
            preconditionFailure("the queue of one task is full")
        }
    }

    /// Runs work on a thread of its own.
    ///
    /// - Parameters:
    ///   - name: of the thread.
    ///   - work: what to do.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws.
    static func run<Result: Sendable>(name: String, _ work: @escaping @Sendable () async throws -> Result) async throws -> Result
    {
        let executor = BlockingExecutor(name: name)
        defer { withExtendedLifetime(executor) {} }
        return try await Task(executorPreference: executor) { try await work() }.value
    }
}
