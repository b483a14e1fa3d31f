import CarrelStore
import CarrelThreads

/// Records entries that no change of state goes with, in groups: whoever is answered does not wait for the disk.
///
/// An entry is written ``interval`` after it was recorded. Where the disk is slow, or many entries wait, recording waits for it.
/// Where the log cannot be written, recording throws: nobody is handed what no log would tell of. What was recorded before is
/// kept and tried again.
final class AuditGroup: Sendable {
    private struct Item {
        /// Nil for somebody who only waits for those before.
        let entry: Audit.Entry?
        /// Who waits; nil for an entry whose caller has gone on.
        let continuation: CheckedContinuation<Void, any Error>?
    }

    private struct State {
        var items: [Item] = []
        /// Those that are being written.
        var inFlight: [Item] = []
        var isWriting = false
        /// When the first that is not written yet was recorded.
        var since: ContinuousClock.Instant?
        /// Why the last group could not be written, and when that is tried again.
        var failure: (error: any Error, until: ContinuousClock.Instant)?

        var waiting: Int { items.count + inFlight.count }
    }

    /// How long entries wait for company.
    private static let interval = Duration.milliseconds(20)
    /// How long callers go on while nothing gets written.
    private static let patience = Duration.milliseconds(250)
    /// How long until what could not be written is tried again.
    private static let pause = Duration.seconds(1)
    /// Entries not written yet whose callers may have gone on.
    private static let limit = 8192
    /// Entries of one commit, at most.
    private static let groupLimit = 512

    private let database: any Database
    private let chain: AuditChain
    private let state = Locked(State())

    init(database: any Database, chain: AuditChain) {
        self.database = database
        self.chain = chain
    }

    /// How many entries are not written yet.
    var waiting: Int { state.withLock(\.waiting) }

    /// Entries that are not known to be written.
    var unwritten: [Audit.Entry] { state.withLock { ($0.inFlight + $0.items).compactMap(\.entry) } }

    /// Takes an entry to the log.
    ///
    /// - Parameter entry: what happened.
    /// - Throws: the database's error when the log cannot be written; the entry is forgotten then.
    func record(_ entry: Audit.Entry) async throws {
        let now = ContinuousClock.now
        let (mustWait, mustStart) = try state.withLock { state -> (Bool, Bool) in
            if let failure = state.failure { throw failure.error }
            let isSlow = state.since.map { now - $0 > Self.patience } ?? false
            guard !isSlow, state.waiting < Self.limit else { return (true, false) }
            state.items.append(Item(entry: entry, continuation: nil))
            if state.since == nil { state.since = now }
            defer { state.isWriting = true }
            return (false, !state.isWriting)
        }
        if mustStart { start() }
        if mustWait { try await wait(with: entry) }
    }

    /// Returns once all that was recorded before is durable.
    ///
    /// - Throws: the database's error when it cannot be made so now.
    func settle() async throws {
        let isThere = try state.withLock { state in
            if let failure = state.failure { throw failure.error }
            return state.isWriting
        }
        if isThere { try await wait(with: nil) }
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
        let (failure, isAwaited) = state.withLock { state in
            (state.failure, state.items.count >= Self.groupLimit || state.items.contains { $0.continuation != nil })
        }
        if let failure {
            try? await Task.sleep(until: failure.until)
        } else if !isAwaited {
            try? await Task.sleep(for: Self.interval)
        }
        let group = state.withLock { state -> [Item] in
            let group = Array(state.items.prefix(Self.groupLimit))
            state.items.removeFirst(group.count)
            state.inFlight = group
            state.isWriting = !group.isEmpty
            if group.isEmpty {
                // Who failed was told, nothing was kept: the next one tries.
                state.since = nil
                state.failure = nil
            }
            return group
        }
        guard !group.isEmpty else { return false }
        do {
            // After a failure nobody knows what became of a commit.
            try await write(group.compactMap(\.entry), again: failure != nil)
            state.withLock { state in
                state.failure = nil
                state.inFlight = []
                state.since = state.items.isEmpty ? nil : .now
            }
            for item in group { item.continuation?.resume() }
        } catch {
            let failed = state.withLock { state in
                let kept = group.filter { $0.continuation == nil }
                let others = state.items.filter { $0.continuation != nil }
                // Nothing can be written any more.
                let isOver = (error as? StoreError)?.code == .closed
                state.items = isOver ? [] : kept + state.items.filter { $0.continuation == nil }
                state.inFlight = []
                state.failure = (error, .now + Self.pause)
                return group.filter { $0.continuation != nil } + others
            }
            for item in failed { item.continuation?.resume(throwing: error) }
        }
        return true
    }

    /// Writes entries, and seals them where that disturbs nobody.
    ///
    /// In PostgreSQL, where others change the log at the same time, and where there is no chain to go on with, they wait for
    /// ``Audit/seal()``, which says what is wrong.
    private func write(_ entries: [Audit.Entry], again: Bool) async throws {
        guard !entries.isEmpty else { return }
        let (chain, isAlone) = (chain, database.engine == .sqlite)
        let last = try await database.write { transaction -> AuditHead.Mark? in
            let new = try entries.filter { try !again || !AuditStore.isThere($0.id, in: transaction) }
            var marks: [AuditHead.Mark] = []
            do {
                if isAlone { marks = try chain.marks(of: new, in: transaction) }
            } catch is ServerError {
                // sealing says so
            }
            for (index, entry) in new.enumerated() {
                try AuditStore.append(entry, marks.isEmpty ? nil : marks[index], in: transaction)
            }
            return marks.last
        }
        if let last { chain.saw(last) }
    }
}
