// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelReader

/// The queue of the process that has the lock: starts items by their priority, follows the requests of other processes, and ends removals.
actor TransferQueue {
    private struct Running {
        let task: Task<Void, Never>
        let limits: ItemLimits
        /// Bytes that the item is still expected to need.
        var reserved: Int64 = 0
    }

    private let core: Downloads
    private let context: TransferContext
    private var limits: DownloadQueueLimits
    private var running: [String: Running] = [:]
    private var conditions = Conditions()
    private var nextRenewal = ContinuousClock.now
    /// Renewals that failed, and when they are tried again.
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
            try await begin()
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
    private func begin() async throws(DownloadError) {
        for id in core.folder.interruptedRemovals() {
            if try await journal.markRemoved(id, givesBack: false) { continue }
            try? core.folder.remove(id)
        }
        let rows = try await journal.items()
        core.folder.sweepOrphans(items: Set(rows.map(\.item.id)), now: core.options.clock.now)
        for row in rows where row.item.state.isRunning { _ = try await journal.move(row.item.id, to: .queued) }
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
            // paused, removed or restarted by another caller; an item that has just ended is no open item either
            guard let row = states[id], row.item.state.isRunning || row.item.state == .queued else {
                run.task.cancel()
                continue
            }
            run.limits.update(row.limits)
            if let reason = unmet(row), try await journal.move(id, to: .waiting, reason: reason.rawValue) != nil { run.task.cancel() }
        }
        for row in rows where running[row.item.id] == nil { try await advance(row) }
        startRenewals()
        if let item {
            guard let row = try await journal.item(item) else { return true }
            return row.item.state.isFinal && running[item] == nil
        }
        return running.isEmpty && renewal == nil && rows.allSatisfy { $0.item.state.isFinal }
    }

    private func unmet(_ row: JournalRow) -> DownloadRequirements.Reason? {
        row.requirements.unmet(conditions, freeSpace: row.requirements.freeSpace > 0 ? core.folder.freeSpace : 0)
    }

    private func advance(_ row: JournalRow) async throws(DownloadError) {
        let id = row.item.id
        switch row.item.state {
        case .removing:
            do throws(DownloadError) { try await core.finishRemoval(id, givesBack: row.givesBack) } catch {
                core.trace("item not removed yet", id, [Trace.Field("error", .code(of: error))])
            }
        case .restarting:
            try core.folder.remove(id)
            try await journal.restart(id)
            _ = try await journal.move(id, to: .queued)
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

    // MARK: - Items

    private func start(_ row: JournalRow) {
        let id = row.item.id
        let itemLimits = ItemLimits(row.limits)
        let transfer = ItemTransfer(id: id, core: core, context: context, limits: itemLimits) {
            (expected, done) throws(DownloadError) in try await self.reserve(id, expected: expected, done: done)
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

    /// Reserves room for the rest of an item; older items are evicted for it if that is switched on.
    private func reserve(_ id: String, expected: Int64, done: Int64) async throws(DownloadError) {
        let rest = max(0, expected - done)
        while true {
            guard let error = try await shortage(id, rest) else { break }
            guard limits.evicts, try await evictOne() else { throw error }
        }
        running[id]?.reserved = rest
    }

    private func shortage(_ id: String, _ rest: Int64) async throws(DownloadError) -> DownloadError? {
        let others = running.filter { $0.key != id }.values.reduce(0) { $0 + $1.reserved }
        let free = core.folder.freeSpace
        if rest + others + core.options.pace.margin > free {
            return DownloadError(.diskFull, "the disk has \(free) free bytes, and the downloads need about \(rest + others)")
        }
        guard let quota = limits.quota else { return nil }
        let used = try await journal.items().reduce(0) { $0 + $1.item.done }
        return used + rest + others > quota
            ? DownloadError(.quota, "the downloads would have about \(used + rest + others) bytes, and \(quota) are allowed") : nil
    }

    /// Removes the complete item that was played least recently, unless it is pinned.
    private func evictOne() async throws(DownloadError) -> Bool {
        let rows = try await journal.items()
        let candidates = rows.filter { [.completed, .expired].contains($0.item.state) && !$0.item.isPinned }
        guard let oldest = candidates.min(by: { $0.usedAt < $1.usedAt }) else { return false }
        let id = oldest.item.id
        guard try await journal.markRemoved(id, givesBack: false) else { return true }
        core.trace("item evicted", id)
        try await core.finishRemoval(id, givesBack: false)
        return true
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
            if let until = postponed[id], until > .now { continue }
            do throws(DownloadError) {
                let item = try await core.renewKeys(id, onlyIfDue: true)
                postponed[id] = nil
                core.trace("keys renewed", id)
                core.hub.send(.changed(item))
            } catch {
                postponed[id] = .now + .seconds(600)
                core.trace("keys not renewed", id, [Trace.Field("error", .code(of: error))])
            }
        }
    }
}
