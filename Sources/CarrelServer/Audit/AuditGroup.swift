import CarrelStore
import CarrelThreads

/// Records entries that no change of state goes with: those that come while others are written go together, in one piece of work
/// for the database.
final class AuditGroup: Sendable {
    private typealias Waiting = (entry: Audit.Entry, continuation: CheckedContinuation<Void, any Error>)

    private struct State {
        var waiting: [Waiting] = []
        var isWriting = false
    }

    private let database: any Database
    private let state = Locked(State())

    init(database: any Database) {
        self.database = database
    }

    /// Returns once the entry is durable.
    func record(_ entry: Audit.Entry) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                state.waiting.append((entry, continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { Task { await self.drain() } }
        }
    }

    private func drain() async {
        while true {
            let group = state.withLock { state -> [Waiting] in
                defer { state.waiting = [] }
                state.isWriting = !state.waiting.isEmpty
                return state.waiting
            }
            guard !group.isEmpty else { return }
            await write(group)
        }
    }

    private func write(_ group: [Waiting]) async {
        do {
            let entries = group.map(\.entry)
            try await database.write { transaction in
                for entry in entries { try AuditStore.append(entry, in: transaction) }
            }
            for (_, continuation) in group { continuation.resume() }
        } catch {
            guard group.count > 1 else {
                for (_, continuation) in group { continuation.resume(throwing: error) }
                return
            }
            // One of them may be at fault: the others are not to suffer for it.
            for one in group { await write([one]) }
        }
    }
}
