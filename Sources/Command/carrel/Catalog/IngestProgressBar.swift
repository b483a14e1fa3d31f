// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelIngest
import CarrelThreads

/// Shows an ingest's phases one after the other, each with its own bar.
final class IngestProgressBar: Sendable {
    private let path: String
    private let console: Console
    private let current = Locked<(phase: IngestProgress.Phase, bar: ProgressBar)?>(nil)

    init(_ path: String, _ console: Console) {
        self.path = path
        self.console = console
    }

    func show(_ progress: IngestProgress) {
        let bar = current.withLock { current -> ProgressBar in
            if let current, current.phase == progress.phase { return current.bar }
            current?.bar.finish()
            let bar = console.progress(
                "\(progress.phase.rawValue) \(path)",
                totalBytes: progress.total > 0 ? progress.total : nil
            )
            current = (progress.phase, bar)
            return bar
        }
        bar.advance(to: progress.done)
    }

    func finish() {
        current.withLock { current in
            current?.bar.finish()
            current = nil
        }
    }
}
