// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Work that no caller waits for, one piece of a kind at a time.
final class BackgroundWork: Sendable {
    private let running = Locked<[String: Task<Void, Never>]>([:])

    /// Starts work unless work of that name is running.
    func start(_ name: String, _ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            guard running[name] == nil else { return }
            running[name] = Task { [self] in
                await work()
                self.running.withLock { $0[name] = nil }
            }
        }
    }

    /// Waits until none of it is running.
    func finish() async {
        while let task = running.withLock({ $0.values.first }) { await task.value }
    }
}
