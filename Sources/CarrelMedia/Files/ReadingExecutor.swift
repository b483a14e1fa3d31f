import CarrelThreads

/// Runs tasks that read files on threads of its own: reading blocks, which threads that run all other tasks must never do.
final class ReadingExecutor: TaskExecutor {
    private static let shared = ReadingExecutor()

    // a job that is not taken would never end: as many wait as there are tasks
    private let threads = BlockingThreadPool(name: "media-read", count: 4, limit: .max)

    private init() {}

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try threads.start { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        } catch {
            preconditionFailure("the queue of readers has no limit")
        }
    }

    /// Runs work that reads files and waits for keys, and returns what it returns or throws.
    @concurrent
    static func run<Result: Sendable>(_ work: @Sendable @concurrent () async throws -> Result) async throws -> Result {
        try await withTaskExecutorPreference(shared) { try await work() }
    }
}
