// SPDX-License-Identifier: Apache-2.0

/// The counts of a queue of work, or of all queues with the same name.
package struct QueueCounts: Sendable, Equatable {
    package let name: String
    /// Work that no thread has taken yet.
    package var waiting: Int
    /// Work that was refused because too much waited.
    package var refused: Int

    package init(name: String, waiting: Int, refused: Int) {
        (self.name, self.waiting, self.refused) = (name, waiting, refused)
    }

    private struct Entry: Sendable {
        weak var queue: WorkQueue?
    }

    private static let entries = Locked<[Entry]>([])

    static func add(_ queue: WorkQueue) {
        entries.withLock { entries in
            entries.removeAll { $0.queue == nil }
            entries.append(Entry(queue: queue))
        }
    }

    static func all() -> [QueueCounts] {
        let queues = entries.withLock { $0.compactMap(\.queue) }
        var sums: [String: QueueCounts] = [:]
        for queue in queues {
            let counts = queue.counts
            sums[counts.name, default: QueueCounts(name: counts.name, waiting: 0, refused: 0)].waiting += counts.waiting
            sums[counts.name]?.refused += counts.refused
        }
        return sums.values.sorted { $0.name < $1.name }
    }
}
