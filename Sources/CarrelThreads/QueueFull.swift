/// Work was refused because too much of it waits already. Trying again later helps.
public struct QueueFull: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the queue.
    public let queue: String

    init(_ queue: String) {
        self.queue = queue
    }

    public var description: String { "too much work waits in the queue '\(queue)': try again (queue.full)" }
}
