// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelThreads

/// Sorts the files of an archive, which may be a hundred thousand with long names, on a dedicated thread.
enum NaturalSorting {
    private static let threads = BlockingThreadPool(name: "carrel-sorting", count: 1)

    /// - Parameter paths: in any order.
    /// - Returns: them in the order that people expect (``NaturalOrder``).
    /// - Throws: `resource.cancelled` with the task, after a few thousand comparisons.
    static func sorted(_ paths: [ResourcePath]) async throws(ResourceError) -> [ResourcePath] {
        let isCancelled = Locked(false)
        do {
            return try await withTaskCancellationHandler {
                try await threads.run {
                    try NaturalOrder.sorted(paths, by: \.string) { () throws(CancellationError) in
                        if isCancelled.withLock({ $0 }) { throw CancellationError() }
                    }
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        } catch is CancellationError {
            throw ResourceError(.cancelled, "the opening was cancelled")
        } catch {
            throw ResourceError(.unavailable, "the files cannot be sorted now: \(error)")
        }
    }
}
