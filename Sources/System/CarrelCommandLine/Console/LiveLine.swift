// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A line at the foot of a terminal that a command draws by itself, for what a bar of progress does not show. Several lines are drawn
/// in the order in which they were made. Nothing is drawn elsewhere, and nothing with `--json` or `--quiet`.
package final class LiveLine: Sendable {
    private let console: Console
    private let id: Screen.LineID
    private let isOver = Locked(false)

    /// - Parameter console: the command's console.
    package init(_ console: Console) {
        self.console = console
        id = console.makeLine()
    }

    deinit { finish() }

    /// Whether there is a terminal that the line is for.
    package var isShown: Bool { console.diagnostics.isInteractive && console.showsProgress && !isOver.withLock { $0 } }

    /// Replaces the line with a new one.
    ///
    /// - Parameters:
    ///   - parts: facts, the most important first; facts that do not fit are omitted.
    ///   - fraction: the length of a bar after the first part; nil for no bar.
    package func show(_ parts: [String], fraction: Double? = nil) {
        guard isShown, let first = parts.first else { return }
        let room = console.diagnostics.columns - 1
        var line = first.printable
        if let fraction, line.columns + 14 <= room {
            let filled = Int(min(1, max(0, fraction)) * 12)
            let (full, empty) = console.diagnostics.hasUnicode ? ("━", "─") : ("#", ".")
            line += " " + String(repeating: full, count: filled) + String(repeating: empty, count: 12 - filled)
        }
        for part in parts.dropFirst() {
            let longer = "\(line)  \(part.printable)"
            guard longer.columns <= room else { break }
            line = longer
        }
        console.setLine(id, line.shortened(to: room))
    }

    /// Removes the line.
    package func finish() {
        let wasShown = isShown
        isOver.withLock { $0 = true }
        if wasShown { console.setLine(id, nil) }
    }
}
