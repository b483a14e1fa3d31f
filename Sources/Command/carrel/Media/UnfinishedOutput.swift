// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// Folders that a command has begun to write: SIGINT and SIGTERM remove them and end the process with 130 or 143.
///
/// A second signal ends the process before that.
final class UnfinishedOutput: Sendable {
    private struct State {
        var folders: [String] = []
        var isStopped = false
    }
    private let state = Locked(State())

    /// From here on the signals end the process this way.
    init() {
        clinux_catch_stop()
        startThread(name: "signals") { [self] in
            clinux_wait_for_stop()
            let folders = state.withLock { state in
                state.isStopped = true
                return state.folders
            }
            for folder in folders { Self.remove(folder) }
            _exit(128 + clinux_stop_signal())
        }
    }

    /// Adds a folder; nothing happens to it once it has another name.
    func add(_ folder: String) {
        let isStopped = state.withLock { state in
            state.folders.append(folder)
            return state.isStopped
        }
        if isStopped { Self.remove(folder) }
    }

    /// Removes the folders that are left. After a signal, waits for the end of the process instead, so that errors caused by the removed folders
    /// are not reported. Called at the end of a command: another thread may still hold a ``ScratchFolder``.
    func finish() async {
        while state.withLock(\.isStopped) { try? await Task.sleep(for: .seconds(1)) }
        for folder in state.withLock(\.folders) { Self.remove(folder) }
    }

    /// Removes a folder that another thread may still write to.
    private static func remove(_ folder: String) {
        for _ in 0..<100 {
            unsafe clinux_remove_tree(folder)
            guard unsafe access(folder, F_OK) == 0 else { return }
        }
    }
}
