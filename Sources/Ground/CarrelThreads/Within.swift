// SPDX-License-Identifier: Apache-2.0

/// Returns the result of `work`, unless it takes longer; then it continues in the background, and its result or error is lost.
///
/// - Parameters:
///   - limit: how long to wait.
///   - sleep: waits for the limit.
///   - work: what to do.
/// - Returns: nil if the time is over.
/// - Throws: what `work` throws in time.
package func within<Result: Sendable>(
    _ limit: Duration,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
    let outcome = Locked<Swift.Result<Result?, any Error>?>(nil)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        @Sendable func end(_ result: Swift.Result<Result?, any Error>) {
            let isFirst = outcome.withLock { outcome in
                if outcome != nil { return false }
                outcome = result
                return true
            }
            if isFirst { continuation.resume() }
        }
        let alarm = Task {
            try await sleep(limit)
            end(.success(nil))
        }
        Task {
            do { end(.success(try await work())) } catch { end(.failure(error)) }
            alarm.cancel()
        }
    }
    guard let result = outcome.withLock({ $0 }) else { preconditionFailure("the wait ended without an outcome") }
    return try result.get()
}
