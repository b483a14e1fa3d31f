// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

extension StoreError {
    /// Runs `body` and throws `store.busy` if a queue refuses its work.
    package static func refusing<Result>(
        _ reason: String,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch is QueueFull {
            throw StoreError(.busy, reason)
        }
    }
}
