/// Work was refused because too much of it waits already. Trying again later helps.
package struct QueueFull: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the queue.
    package let queue: String

    init(_ queue: String) {
        self.queue = queue
    }

    package var description: String { "too much work waits in the queue '\(queue)': try again (queue.full)" }
}
