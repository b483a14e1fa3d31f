// SPDX-License-Identifier: Apache-2.0

/// Work was refused because too much of it waits already, or the system has no thread for it. Trying again later helps.
package struct QueueFull: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the queue.
    package let queue: String
    /// Whether there is a thread that does the work of the queue.
    package let hasThread: Bool

    init(_ queue: String, hasThread: Bool = true) {
        self.queue = queue
        self.hasThread = hasThread
    }

    package var description: String {
        guard hasThread else { return "the system refused a thread for the queue '\(queue)': try again (queue.full)" }
        return "too much work waits in the queue '\(queue)': try again (queue.full)"
    }
}
