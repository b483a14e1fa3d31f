// SPDX-License-Identifier: Apache-2.0

/// Returns the result of `work`, which is cancelled when it takes longer: no request goes on behind it.
///
/// - Parameters:
///   - limit: how long.
///   - work: ends when it is cancelled.
/// - Returns: its result.
/// - Throws: what `work` throws; also that it was cancelled.
package func cancelling<Result: Sendable>(
    after limit: Duration,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let task = Task { try await work() }
    let alarm = Task {
        try await Task.sleep(for: limit)
        task.cancel()
    }
    defer { alarm.cancel() }
    return try await withTaskCancellationHandler {
        try await task.value
    } onCancel: {
        task.cancel()
    }
}
