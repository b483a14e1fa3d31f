// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Shows how far something has come: a bar at the foot of a terminal, below earlier bars, that is redrawn at most ten times a second on a terminal, a line every five seconds
/// elsewhere, nothing with `--json` or `--quiet`.
package final class ProgressBar: Sendable {
    private struct State {
        var meter: ProgressMeter
        var lastShown: Duration
        var isOver = false
    }

    private let console: Console
    private let id: Screen.LineID
    private let state: Locked<State>

    init(_ console: Console, _ meter: ProgressMeter) {
        self.console = console
        id = console.makeLine()
        // on a terminal the first step is shown immediately; in a log, work of less than five seconds is not
        let now = console.now()
        state = Locked(State(meter: meter, lastShown: console.diagnostics.isInteractive ? now - .seconds(1) : now))
    }

    deinit {
        finish()
    }

    /// - Parameter completed: the total progress.
    package func advance(to completed: Int64) {
        let now = console.now()
        show(at: now) { $0.record(completed, at: now) }
    }

    /// - Parameter count: the additional progress.
    package func advance(by count: Int64) {
        let now = console.now()
        show(at: now) { $0.record($0.completed + count, at: now) }
    }

    /// Sets everything: for work whose total is an estimate, and whose label tells what it waits for.
    ///
    /// - Parameters:
    ///   - completed: the total progress.
    ///   - total: the total; nil if unknown.
    ///   - label: the activity.
    package func update(_ completed: Int64, of total: Int64?, _ label: String) {
        let now = console.now()
        show(at: now) { meter in
            meter.total = total
            meter.label = label.printable
            meter.record(completed, at: now)
        }
    }

    /// Removes the bar and prints a summary.
    ///
    /// - Parameter summary: the text that replaces it; nil for none.
    package func finish(_ summary: String? = nil) {
        let wasRunning = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard wasRunning else { return }
        if console.diagnostics.isInteractive { console.setLine(id, nil) }
        if let summary, console.showsProgress { console.note(summary) }
    }

    private func show(at now: Duration, _ change: (inout ProgressMeter) -> Void) {
        let interactive = console.diagnostics.isInteractive
        let due = state.withLock { state -> ProgressMeter? in
            guard !state.isOver else { return nil }
            change(&state.meter)
            guard console.showsProgress, now - state.lastShown >= (interactive ? .milliseconds(100) : .seconds(5)) else {
                return nil
            }
            state.lastShown = now
            return state.meter
        }
        guard let due else { return }
        if interactive {
            let terminal = console.diagnostics
            console.setLine(id, due.line(at: now, columns: terminal.columns, unicode: terminal.hasUnicode))
        } else {
            console.note(due.plainLine(at: now))
        }
    }
}

extension Console {
    /// Begins to show the progress of something measured in bytes.
    ///
    /// - Parameters:
    ///   - label: the activity, such as `ingesting book.mp3`.
    ///   - totalBytes: the total; nil if unknown.
    /// - Returns: the bar, which receives each step; it ends with `finish`, or when it is released.
    package func progress(_ label: String, totalBytes: Int64?) -> ProgressBar {
        ProgressBar(self, ProgressMeter(label: label.printable, total: totalBytes, unit: .bytes, at: now()))
    }

    /// Begins to show the progress of something that is counted.
    ///
    /// - Parameters:
    ///   - label: the activity.
    ///   - totalItems: the total; nil if unknown.
    /// - Returns: the bar, which receives each step; it ends with `finish`, or when it is released.
    package func progress(_ label: String, totalItems: Int64?) -> ProgressBar {
        ProgressBar(self, ProgressMeter(label: label.printable, total: totalItems, unit: .items, at: now()))
    }
}
