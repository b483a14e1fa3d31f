import CarrelThreads

/// A value that is made at its first use, by one task, while others that want it wait; made again after a failure.
final class Once<Value: Sendable>: Sendable {
    private let state = Locked(State.empty)

    private enum State {
        case empty
        case making(Task<Value, any Error>)
        case made(Value)
    }

    /// The value, if it was made.
    var made: Value? {
        state.withLock { if case .made(let value) = $0 { value } else { nil } }
    }

    /// - Parameter make: makes the value. Not cancelled with the caller, because others may wait for it.
    /// - Returns: the value.
    /// - Throws: what `make` throws.
    func value(_ make: @escaping @Sendable () async throws(ResourceError) -> Value) async throws(ResourceError) -> Value {
        if let made { return made }
        let task = state.withLock { state in
            switch state {
            case .making(let task): return task
            case .made(let value): return Task { value }
            case .empty:
                let new = Task<Value, any Error> { try await make() }
                state = .making(new)
                return new
            }
        }
        do {
            let value = try await task.value
            state.withLock { $0 = .made(value) }
            return value
        } catch {
            state.withLock { if case .making(let current) = $0, current == task { $0 = .empty } }
            throw error as? ResourceError ?? ResourceError(.unavailable, "reading failed")
        }
    }
}
