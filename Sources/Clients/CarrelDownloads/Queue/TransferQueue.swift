// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPlayer
import CarrelReader
import CarrelThreads

/// The queue of the process that has the lock. It starts items by their priority, follows the requests of other processes, and ends
/// removals.
actor TransferQueue {
    private struct Running {
        let task: Task<Void, Never>
        let limits: ItemLimits
        /// Bytes that the item is still expected to need.
        var reserved: Int64 = 0
        /// Whether its transfers were seen to have begun.
        var hasBegun = false
    }

    private let core: Downloads
    private let context: TransferContext
    private var limits: DownloadQueueLimits
    private var running: [String: Running] = [:]
    private var conditions = Conditions()
    private var nextRenewal = ContinuousClock.now
    /// Removals and restarts that failed, and when they are tried again.
    private var postponed: [String: ContinuousClock.Instant] = [:]
    private var renewal: Task<Void, Never>?
    /// Why nothing can be recorded any more.
    private var failure: DownloadError?
    private var wakes: AsyncStream<Void>.Continuation?

    init(_ core: Downloads, _ limits: DownloadQueueLimits) {
        self.core = core
        self.limits = limits
        context = TransferContext(limits)
    }

    private var journal: Journal { core.journal }

    // MARK: - The loop

    /// Works until an item ends, or until nothing is left.
    ///
    /// - Parameter item: the item; nil for all.
    /// - Throws: `download.journal`, `CancellationError`.
    func run(until item: String?) async throws {
        let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        wakes = continuation
        let watch = Task {
            for await conditions in core.options.conditions.changes() { take(conditions) }
        }
        let ticks = Task { [pace = core.options.pace] in
            while !Task.isCancelled {
                continuation.yield()
                try? await Task.sleep(for: pace.poll)
            }
        }
        defer {
            watch.cancel()
            ticks.cancel()
            renewal?.cancel()
        }
        do {
            try await begin(item == nil)
            for await _ in signals {
                try Task.checkCancellation()
                if try await step(until: item) { break }
            }
            try Task.checkCancellation()
        } catch {
            await stopAll()
            throw error
        }
        await stopAll()
    }

    private func take(_ conditions: Conditions) {
        self.conditions = conditions
        wakes?.yield()
    }

    /// Continues what an earlier process left.
    ///
    /// - Parameter isWholeQueue: whether items that failed for a time are tried again.
    /// - Throws: `download.journal`, `download.disk-full`.
    private func begin(_ isWholeQueue: Bool) async throws(DownloadError) {
        for id in core.folder.interruptedRemovals() {
            if try await journal.markRemoved(id, givesBack: false) { continue }
            try? await core.folder.perform { (folder) throws(DownloadError) in try folder.remove(id) }
        }
        let rows = try await journal.items()
        let (ids, now) = (Set(rows.map(\.item.id)), core.options.clock.now)
        let removed = Locked<[String]>([])
        try await core.folder.perform { folder in
            let orphans = folder.sweepOrphans(items: ids, now: now)
            removed.withLock { $0 = orphans }
        }
        // their keys are of no use without them
        for id in removed.withLock({ $0 }) { try? await LicenseStore.removeItem(id, fromFolder: core.reader) }
        for row in rows {
            let isLeft = row.item.state.isRunning || isWholeQueue && row.item.state == .failed && row.item.isRetryable
            if isLeft { _ = try await journal.move(row.item.id, to: .queued) }
        }
        try await core.finishKeyRemovals()
    }

    /// One look at the journal.
    ///
    /// - Returns: whether the work is done.
    private func step(until item: String?) async throws(DownloadError) -> Bool {
        if let failure { throw failure }
        limits = try await journal.limits()
        context.update(limits)
        let rows = try await journal.openItems()
        let states = Dictionary(uniqueKeysWithValues: rows.map { ($0.item.id, $0) })
        for (id, run) in running {
            // paused, removed or restarted by another caller; an item that has just ended is not open either
            guard let row = states[id], row.item.state.isRunning || row.item.state == .queued && !run.hasBegun else {
                run.task.cancel()
                continue
            }
            running[id]?.hasBegun = row.item.state.isRunning
            run.limits.update(row.limits)
            if let reason = unmet(row), try await journal.move(id, to: .waiting, reason: reason.rawValue) != nil {
                run.task.cancel()
            }
        }
        for row in rows where running[row.item.id] == nil { try await advance(row) }
        startRenewals()
        if let item {
            guard let row = try await journal.item(item) else { return true }
            return row.item.state.isFinal && running[item] == nil
        }
        return running.isEmpty && renewal == nil && rows.allSatisfy { $0.item.state.isFinal || postponed[$0.item.id] != nil }
    }

    private func unmet(_ row: JournalRow) -> DownloadRequirements.Reason? {
        row.requirements.unmet(conditions, freeSpace: row.requirements.freeSpace > 0 ? core.folder.freeSpace : 0)
    }

    private func advance(_ row: JournalRow) async throws(DownloadError) {
        let id = row.item.id
        switch row.item.state {
        case .removing: try await attempt(id) { try await core.finishRemoval(id) }
        case .restarting:
            try await attempt(id) {
                try await core.folder.perform { (folder) throws(DownloadError) in try folder.restart(id) }
                try await journal.restart(id)
                _ = try await journal.move(id, to: .queued)
            }
        case .queued, .waiting:
            if let reason = unmet(row) {
                guard row.item.reason != reason.rawValue else { return }
                if let item = try await journal.move(id, to: .waiting, reason: reason.rawValue) { core.hub.send(.changed(item)) }
            } else if running.count < limits.items {
                if row.item.state == .waiting, try await journal.move(id, to: .queued) == nil { return }
                start(row)
            }
        default: break
        }
    }

    /// Changes files of an item; a failure is in the item, and is tried again after a minute.
    private func attempt(_ id: String, _ work: () async throws -> Void) async throws(DownloadError) {
        guard postponed[id].map({ $0 <= .now }) ?? true else { return }
        do {
            try await work()
            postponed[id] = nil
        } catch {
            let failure = TransferFailure(error).error
            postponed[id] = .now + .seconds(60)
            core.trace("item not removed yet", id, [Trace.Field("error", .code(of: failure))])
            try await journal.setMessage(failure.message, of: id)
        }
    }

    // MARK: - Items

    private func start(_ row: JournalRow) {
        let id = row.item.id
        let itemLimits = ItemLimits(row.limits)
        let transfer = ItemTransfer(id: id, core: core, context: context, limits: itemLimits) {
            (expected, done) throws(DownloadError) in
            try await self.reserve(id, expected: expected, done: done)
        } update: { expected, done in
            await self.update(id, max(0, expected - done))
        }
        core.trace("item started", id)
        let task = Task {
            let error: (any Error)?
            do {
                try await transfer.run()
                error = nil
            } catch let failure {
                error = failure
            }
            await end(id, error)
        }
        running[id] = Running(task: task, limits: itemLimits)
    }

    private func end(_ id: String, _ error: (any Error)?) async {
        running[id] = nil
        defer { wakes?.yield() }
        switch error {
        case .none, .some(is ItemTransfer.Stopped), .some(is CancellationError): break
        case .some(let error):
            let failure = TransferFailure(error).error
            core.trace("item failed", id, [Trace.Field("error", .code(of: failure))])
            do throws(DownloadError) {
                // the item is not the cause of a locked vault
                if failure.code == .vault {
                    self.failure = failure
                    _ = try await journal.move(id, to: .queued)
                    return
                }
                guard let item = try await journal.move(id, to: .failed, error: failure) else { return }
                core.hub.send(.changed(item))
                core.hub.send(.failed(item, failure))
            } catch {
                self.failure = error
            }
        }
    }

    /// Stops all items; what is durable stays, and the next process continues.
    private func stopAll() async {
        let tasks = running
        for run in tasks.values { run.task.cancel() }
        for (id, run) in tasks {
            await run.task.value
            if let item = try? await journal.item(id)?.item, item.state.isRunning { _ = try? await journal.move(id, to: .queued) }
        }
        await renewal?.value
    }

    // MARK: - Space

    /// Reserves room for the rest of an item. It waits for other running items; older ones are evicted if that is on.
    private func reserve(_ id: String, expected: Int64, done: Int64) async throws(DownloadError) {
        let rest = max(0, expected - done)
        while let shortage = try await shortage(id, rest) {
            if try await evict(shortage.bytes) { continue }
            guard shortage.isOfOthers else { throw shortage.error }
            do { try await Task.sleep(for: core.options.pace.poll) } catch { throw shortage.error }
        }
        update(id, rest)
    }

    private func update(_ id: String, _ rest: Int64) { running[id]?.reserved = rest }

    private struct Shortage {
        let bytes: Int64
        /// Whether there is room once other running items have ended.
        let isOfOthers: Bool
        let error: DownloadError
    }

    private func shortage(_ id: String, _ rest: Int64) async throws(DownloadError) -> Shortage? {
        let others = running.filter { $0.key != id }.values.reduce(Int64(0)) { Self.sum($0, $1.reserved) }
        let free = core.folder.freeSpace
        let needed = Self.sum(Self.sum(rest, others), core.options.pace.margin)
        if needed > free {
            let error = DownloadError(
                .diskFull,
                "the disk has \(free) free bytes, and the downloads need about \(Self.sum(rest, others))"
            )
            return Shortage(bytes: needed - free, isOfOthers: Self.sum(rest, core.options.pace.margin) <= free, error: error)
        }
        guard let quota = limits.quota else { return nil }
        let used = try await journal.items().reduce(Int64(0)) { Self.sum($0, $1.item.done) }
        let all = Self.sum(Self.sum(used, rest), others)
        guard all > quota else { return nil }
        let error = DownloadError(.quota, "the downloads would have about \(all) bytes, and \(quota) are allowed")
        return Shortage(bytes: all - quota, isOfOthers: Self.sum(used, rest) <= quota, error: error)
    }

    /// Sizes that a server claims have no bounds.
    private static func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let (sum, isOver) = one.addingReportingOverflow(other)
        return isOver ? .max : sum
    }

    /// Removes complete items that are not pinned, the least recently played first, if they make enough room.
    ///
    /// - Returns: false if nothing was removed.
    private func evict(_ needed: Int64) async throws(DownloadError) -> Bool {
        guard limits.evicts else { return false }
        var candidates = try await journal.items().filter { $0.item.state.isComplete && !$0.item.isPinned }
        candidates.sort { $0.usedAt < $1.usedAt }
        guard candidates.reduce(Int64(0), { Self.sum($0, $1.item.done) }) >= needed else { return false }
        var freed: Int64 = 0
        for row in candidates where freed < needed {
            guard try await journal.markRemoved(row.item.id, givesBack: false) else { continue }
            core.trace("item evicted", row.item.id)
            try await core.finishRemoval(row.item.id)
            freed = Self.sum(freed, row.item.done)
        }
        return freed > 0
    }

    // MARK: - Renewals

    /// Renews the keys of complete items in the background, when that is due.
    private func startRenewals() {
        guard renewal == nil, ContinuousClock.now >= nextRenewal else { return }
        nextRenewal = .now + core.options.pace.renewal
        renewal = Task {
            await renewDue()
            renewal = nil
            wakes?.yield()
        }
    }

    private func renewDue() async {
        guard let rows = try? await journal.dueRenewals(at: core.options.clock.now) else { return }
        for row in rows {
            let id = row.item.id
            if Task.isCancelled { return }
            do throws(DownloadError) {
                let item = try await core.renewKeys(id, onlyIfDue: true)
                core.trace("keys renewed", id)
                core.hub.send(.changed(item))
            } catch {
                core.trace("keys not renewed", id, [Trace.Field("error", .code(of: error))])
                // others come first meanwhile
                let next = core.options.clock.now + .seconds(Int.random(in: 600...1200))
                try? await journal.setRenewal(id, at: next)
            }
        }
    }
}
