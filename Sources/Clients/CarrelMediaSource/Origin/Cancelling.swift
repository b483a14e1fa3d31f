// SPDX-License-Identifier: Apache-2.0

/// Returns the result of `work`, which is cancelled after the limit: no request outlives it.
///
/// - Parameters:
///   - limit: the time limit.
///   - clock: measures it.
///   - work: the work, which ends on cancellation.
/// - Returns: the result of `work`.
/// - Throws: the errors of `work`, including cancellation.
package func cancelling<Result: Sendable>(
    after limit: Duration,
    on clock: MonotonicClock,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let task = Task { try await work() }
    let alarm = Task {
        try await clock.sleep(for: limit)
        task.cancel()
    }
    defer { alarm.cancel() }
    return try await withTaskCancellationHandler {
        try await task.value
    } onCancel: {
        task.cancel()
    }
}
