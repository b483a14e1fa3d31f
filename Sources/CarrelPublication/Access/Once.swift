import CarrelThreads

/// A value that is made at its first use, by one task, while others that want it wait; made again after a failure.
final class Once<Value: Sendable>: Sendable {
    private let task = Locked<Task<Value, any Error>?>(nil)

    /// - Parameter make: makes the value. Not cancelled with the caller, because others may wait for it.
    /// - Returns: the value.
    /// - Throws: what `make` throws.
    func value(_ make: @escaping @Sendable () async throws(ResourceError) -> Value) async throws(ResourceError) -> Value {
        let task = task.withLock { task in
            if let task { return task }
            let new = Task { try await make() }
            task = new
            return new
        }
        do {
            return try await task.value
        } catch {
            self.task.withLock { if $0 == task { $0 = nil } }
            throw error as? ResourceError ?? ResourceError(.unavailable, "reading failed")
        }
    }
}
