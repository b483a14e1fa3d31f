// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
package import CarrelWebAPI

/// The jobs of all capabilities while a server runs.
package struct BackgroundJobs: Sendable {
    private let running: [(task: Task<Void, Never>, job: BackgroundJob)]
    private let warn: @Sendable (String) -> Void

    /// Starts all jobs.
    ///
    /// - Parameters:
    ///   - jobs: the jobs.
    ///   - warn: called with a failure, once until the job succeeds again.
    package init(_ jobs: [BackgroundJob], warn: @escaping @Sendable (String) -> Void) {
        self.warn = warn
        running = jobs.map { job in (Task { await Self.repeating(job, warn) }, job) }
    }

    /// The longest that the end waits for jobs that are at work, all together.
    private static let patience = Duration.seconds(10)

    /// Stops all jobs, and does what each does at its end. Those that are at work are cancelled; the lowest capability's end is the last.
    package func stop() async {
        for (task, _) in running { task.cancel() }
        let tasks = running.map(\.task)
        _ = try? await within(Self.patience) { for task in tasks { await task.value } }
        for (_, job) in running.reversed() {
            do { try await job.end?() } catch { warn("\(job.trouble): \(error)") }
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
