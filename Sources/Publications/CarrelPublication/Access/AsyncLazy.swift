// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A value computed at first use by one task, while other users wait; computed again after a failure, and after all users
/// canceled.
package final class AsyncLazy<Value: Sendable>: Sendable {
    private let state = Locked(State.empty)

    private enum State {
        case empty
        case making(Task<Value, any Error>, waiting: Int)
        case made(Value)
    }

    package init() {}

    /// The value, if it was made.
    package var made: Value? {
        state.withLock { if case .made(let value) = $0 { value } else { nil } }
    }

    /// - Parameter make: computes the value. Canceled with the last task that waits for it.
    /// - Returns: the value.
    /// - Throws: what `make` throws.
    package func value(
        _ make: @escaping @Sendable () async throws(ResourceError) -> Value
    ) async throws(ResourceError) -> Value {
        if let made { return made }
        let task = join(make)
        do {
            let value = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                leave(task)
            }
            settle(task, .made(value))
            return value
        } catch {
            settle(task, .empty)
            throw error as? ResourceError ?? ResourceError(.unavailable, "reading failed")
        }
    }

    private func join(_ make: @escaping @Sendable () async throws(ResourceError) -> Value) -> Task<Value, any Error> {
        state.withLock { state in
            switch state {
            case .making(let task, let waiting):
                state = .making(task, waiting: waiting + 1)
                return task
            case .made(let value): return Task { value }
            case .empty:
                let task = Task<Value, any Error> { try await make() }
                state = .making(task, waiting: 1)
                return task
            }
        }
    }

    /// Cancels the task that computes the value; its users receive the error.
    package func giveUp() {
        state.withLock { state in
            guard case .making(let task, _) = state else { return }
            state = .empty
            task.cancel()
        }
    }

    private func leave(_ task: Task<Value, any Error>) {
        state.withLock { state in
            guard case .making(let current, let waiting) = state, current == task else { return }
            state = waiting > 1 ? .making(task, waiting: waiting - 1) : .empty
            if waiting == 1 { task.cancel() }
        }
    }

    /// Stores the result of a task, unless another task has been started since.
    private func settle(_ task: Task<Value, any Error>, _ outcome: State) {
        state.withLock { state in
            if case .making(let current, _) = state, current == task { state = outcome }
        }
    }
}
