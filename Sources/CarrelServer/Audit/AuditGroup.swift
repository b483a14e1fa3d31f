import CarrelStore
import CarrelThreads

/// Records entries that no change of state goes with, in groups: whoever is answered does not wait for the disk.
///
/// An entry is durable a moment after it was recorded, ``interval`` and a commit later, and in order. While the log cannot be
/// written, or as many entries wait as may, recording waits for the disk, and throws when the entry cannot be kept: then nobody
/// is handed what no log would tell of. What was recorded before is kept until it can be written.
final class AuditGroup: Sendable {
    private struct Item {
        /// Nil for somebody who only waits for those before.
        let entry: Audit.Entry?
        /// Who waits; nil for an entry whose caller has gone on.
        let continuation: CheckedContinuation<Void, any Error>?
    }

    private struct State {
        var items: [Item] = []
        var isWriting = false
        /// Whether the last group could not be written.
        var hasFailed = false
    }

    /// How long entries wait for company.
    private static let interval = Duration.milliseconds(20)
    /// How long until what could not be written is tried again.
    private static let pause = Duration.seconds(1)
    /// Entries that may wait whose callers have gone on.
    private static let limit = 8192

    private let database: any Database
    private let chain: AuditChain
    private let state = Locked(State())

    init(database: any Database, chain: AuditChain) {
        self.database = database
        self.chain = chain
    }

    /// Takes an entry to the log.
    ///
    /// - Parameter entry: what happened.
    /// - Throws: the database's error when the log cannot be written; the entry is forgotten then.
    func record(_ entry: Audit.Entry) async throws {
        let (mustWait, mustStart) = state.withLock { state -> (Bool, Bool) in
            guard !state.hasFailed, state.items.count < Self.limit else { return (true, false) }
            state.items.append(Item(entry: entry, continuation: nil))
            defer { state.isWriting = true }
            return (false, !state.isWriting)
        }
        if mustStart { start() }
        if mustWait { try await wait(with: entry) }
    }

    /// Returns once all that was recorded before is durable.
    ///
    /// - Throws: the database's error when it is not yet.
    func settle() async throws {
        guard state.withLock(\.isWriting) else { return }
        try await wait(with: nil)
    }

    private func wait(with entry: Audit.Entry?) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                state.items.append(Item(entry: entry, continuation: continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { start() }
        }
    }

    private func start() {
        Task {
            while await writeGroup() {}
        }
    }

    /// Writes what has come; false when there is nothing any more.
    private func writeGroup() async -> Bool {
        let (hasFailed, isAwaited) = state.withLock { state in
            (state.hasFailed, state.items.contains { $0.continuation != nil })
        }
        if !isAwaited { try? await Task.sleep(for: hasFailed ? Self.pause : Self.interval) }
        let group = state.withLock { state -> [Item] in
            defer { state.items = [] }
            state.isWriting = !state.items.isEmpty
            return state.items
        }
        guard !group.isEmpty else { return false }
        do {
            try await write(group.compactMap(\.entry))
            state.withLock { $0.hasFailed = false }
            for item in group { item.continuation?.resume() }
        } catch {
            state.withLock { state in
                state.hasFailed = true
                let isOver = (error as? StoreError)?.code == .closed
                if !isOver { state.items.insert(contentsOf: group.filter { $0.continuation == nil }, at: 0) }
            }
            for item in group { item.continuation?.resume(throwing: error) }
        }
        return true
    }

    /// Writes entries and seals them; where there is nothing to seal them behind, they wait for ``Audit/seal()``, which says so.
    private func write(_ entries: [Audit.Entry]) async throws {
        guard !entries.isEmpty else { return }
        let known = try chain.head.read()
        try await database.write { [chain] transaction in
            do {
                var end = try chain.end(in: transaction, known)
                for entry in entries {
                    let mark = chain.mark(of: entry, after: end)
                    try AuditStore.append(entry, mark, in: transaction)
                    end = mark
                }
            } catch let error as ServerError where error.code == .conflict {
                for entry in entries { try AuditStore.append(entry, in: transaction) }
            }
        }
    }
}
