// SPDX-License-Identifier: Apache-2.0

extension QueueCounts {
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
