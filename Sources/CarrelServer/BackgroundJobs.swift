import CarrelThreads
package import CarrelWebAPI

/// The jobs of all capabilities while a server runs.
package struct BackgroundJobs: Sendable {
    private let running: [(task: Task<Void, Never>, end: (@Sendable () async throws -> Void)?)]

    /// Starts all jobs.
    ///
    /// - Parameters:
    ///   - jobs: the jobs.
    ///   - warn: told of a failure, once until the job succeeds again.
    package init(_ jobs: [BackgroundJob], warn: @escaping @Sendable (String) -> Void) {
        running = jobs.map { job in (Task { await Self.repeating(job, warn) }, job.end) }
    }

    /// The longest that the end waits for a job that is at work.
    private static let patience = Duration.seconds(10)

    /// Stops all jobs, and does what each does at its end. Those that are at work are cancelled; the lowest capability's end is the last.
    package func stop() async {
        for job in running { job.task.cancel() }
        for job in running.reversed() {
            _ = try? await within(Self.patience) { await job.task.value }
            try? await job.end?()
        }
    }

    private static func repeating(_ job: BackgroundJob, _ warn: @Sendable (String) -> Void) async {
        var isFailing = false
        while !Task.isCancelled {
            do {
                try await job.work()
                isFailing = false
            } catch {
                if !isFailing, !Task.isCancelled { warn("\(job.trouble): \(error)") }
                isFailing = true
            }
            try? await Task.sleep(for: job.interval)
        }
    }
}
