// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelThreads

/// Folds an account's repeated actions within a minute into two entries: the first immediately, and one that counts the others at
/// the minute's end ([decision 22](../../../docs/decisions/0022-repeated-entries-fold.md)).
///
/// Grants fold by account, product and rule, refusals by account and reason, for any product; refused sign-ins by the account
/// that was to be signed in to. An account has
/// ``slotLimit`` of these at most in a minute; further entries are counted in one more. Accounts beyond ``accountLimit`` are not
/// folded. The counts wait in memory: ``flush(at:)`` writes the counts of past minutes, ``flushAll()`` all.
package final class AuditFold: Sendable {
    /// Time for which repeats of an entry are counted.
    package static let window = Duration.seconds(60)
    /// The longest product id of the catalog, in bytes; longer ones are cut.
    package static let subjectLimit = 128
    /// Products and reasons of one account in a minute.
    static let slotLimit = 256
    /// Accounts whose minute has not ended.
    static let accountLimit = 65_536
    /// Products and reasons of all accounts.
    static let totalLimit = 262_144
    /// The reason of entries that count repetitions beyond ``slotLimit``.
    static let others = "others"

    /// The key by which entries are combined.
    private struct Key: Equatable {
        let hash: Int
        let actor: String
        let action: String
        /// Empty for refusals of an account's own requests.
        let subject: String
        let outcome: AuditEntry.Outcome
        let reason: String

        init(_ actor: String, _ action: String, _ subject: String, _ outcome: AuditEntry.Outcome, _ reason: String) {
            (self.actor, self.action, self.subject, self.outcome, self.reason) = (actor, action, subject, outcome, reason)
            var hasher = Hasher()
            hasher.combine(subject)
            hasher.combine(outcome)
            hasher.combine(reason)
            hash = hasher.finalize()
        }
    }

    private struct Slot {
        let key: Key
        /// False if the first entry could not be recorded: the next is the first again.
        var hasFirst = true
        /// Number of repeats after the first.
        var more = 0
        var last: Instant
    }

    private struct Account {
        /// Start of its minute.
        let start: Instant
        var slots: [Slot] = []
    }

    /// An entry that counts others.
    private struct Count {
        let key: Key
        let more: Int
        let last: Instant

        var reason: String { AuditEntry.folded(key.reason, more) }
    }

    private enum Step { case folded, first, unfolded }

    private struct State {
        var accounts: [String: Account] = [:]
        /// The accounts in the order in which their minutes began, from `head` on.
        var queue: [(account: String, start: Instant)] = []
        var head = 0
        var slotCount = 0
        /// Counts of minutes that have ended, not yet written.
        var ended: [Count] = []

        static func isOver(_ start: Instant, at now: Instant) -> Bool { now < start || now - start >= AuditFold.window }

        mutating func step(_ key: Key, of account: String, at now: Instant) -> Step {
            guard let index = accounts.index(forKey: account), !Self.isOver(accounts.values[index].start, at: now) else {
                remove(account)
                guard accounts.count < AuditFold.accountLimit, slotCount < AuditFold.totalLimit else { return .unfolded }
                accounts[account] = Account(start: now, slots: [Slot(key: key, last: now)])
                queue.append((account, now))
                slotCount += 1
                return .first
            }
            if let place = accounts.values[index].slots.firstIndex(where: { $0.key == key }) {
                return Self.count(&accounts.values[index].slots[place], at: now)
            }
            guard slotCount < AuditFold.totalLimit else { return .unfolded }
            guard accounts.values[index].slots.count >= AuditFold.slotLimit else {
                accounts.values[index].slots.append(Slot(key: key, last: now))
                slotCount += 1
                return .first
            }
            let rest = Key(key.actor, key.action, "", key.outcome, AuditFold.others)
            if let place = accounts.values[index].slots.firstIndex(where: { $0.key == rest }) {
                return Self.count(&accounts.values[index].slots[place], at: now)
            }
            accounts.values[index].slots.append(Slot(key: rest, more: 1, last: now))
            slotCount += 1
            return .folded
        }

        private static func count(_ slot: inout Slot, at now: Instant) -> Step {
            slot.last = max(slot.last, now)
            guard slot.hasFirst else {
                slot.hasFirst = true
                return .first
            }
            slot.more += 1
            return .folded
        }

        /// Ends an account's minute.
        mutating func remove(_ id: String) {
            guard let account = accounts.removeValue(forKey: id) else { return }
            slotCount -= account.slots.count
            for slot in account.slots where slot.more > 0 {
                ended.append(Count(key: slot.key, more: slot.more, last: slot.last))
            }
        }

        /// Ends minutes that are over, or all where `now` is nil; false if there may be more.
        mutating func end(at now: Instant?, limit: Int) -> Bool {
            for _ in 0..<limit {
                guard head < queue.count else { break }
                let (account, start) = queue[head]
                if let now, !Self.isOver(start, at: now) { return true }
                head += 1
                if accounts[account]?.start == start { remove(account) }
            }
            if head == queue.count || head > 4096 && head > queue.count / 2 {
                queue.removeFirst(head)
                head = 0
            }
            return queue.isEmpty
        }
    }

    private let group: AuditBatchWriter
    private let state = Locked(State())

    init(_ group: AuditBatchWriter) { self.group = group }

    /// Records an entry, or counts it; for the parameters, see ``AuditActor/entry(_:on:at:outcome:reason:)``.
    ///
    /// - Throws: the database's error when the log cannot be written; the entry is then discarded.
    package func record(
        _ action: String,
        on subject: String,
        by actor: AuditActor,
        at now: Instant,
        outcome: AuditEntry.Outcome = .allowed,
        reason: String = ""
    ) async throws {
        let subject = Self.cut(subject)
        let key = Key(actor.id, action, outcome == .allowed ? subject : "", outcome, reason)
        try await record(key, of: actor.id, on: subject, by: actor, at: now)
    }

    /// Records an entry, or counts it among the entries of an account that is not its actor, such as a message that anyone may send.
    ///
    /// - Parameters:
    ///   - action: the action.
    ///   - account: the account; entries of different accounts are never combined.
    ///   - subject: the subject.
    ///   - actor: the client.
    ///   - now: the time.
    ///   - outcome: the outcome.
    ///   - reason: the reason, and what else differs.
    /// - Throws: the database's error when the log cannot be written; the entry is then discarded.
    package func record(
        _ action: String,
        of account: String,
        on subject: String,
        by actor: AuditActor,
        at now: Instant,
        outcome: AuditEntry.Outcome = .allowed,
        reason: String
    ) async throws {
        let subject = Self.cut(subject)
        let key = Key(actor.id, action, subject, outcome, reason)
        try await record(key, of: account, on: subject, by: actor, at: now)
    }

    /// Records the refusal of a sign-in, or counts it, by account and reason.
    ///
    /// - Parameters:
    ///   - action: the kind of sign-in.
    ///   - account: the id of the account; empty without an account.
    ///   - actor: the client.
    ///   - now: the time.
    ///   - reason: the reason for the refusal.
    /// - Throws: the database's error when the log cannot be written; the entry is then discarded.
    package func recordRefused(_ action: String, of account: String, by actor: AuditActor, at now: Instant, reason: String)
        async throws
    {
        try await record(Key(actor.id, action, account, .refused, reason), of: account, on: account, by: actor, at: now)
    }

    private func record(_ key: Key, of account: String, on subject: String, by actor: AuditActor, at now: Instant) async throws {
        try group.requireWritable()
        let (action, outcome, reason) = (key.action, key.outcome, key.reason)
        switch state.withLock({ $0.step(key, of: account, at: now) }) {
        case .folded: return
        case .unfolded: try await group.record(action, on: subject, by: actor, at: now, outcome: outcome, reason: reason)
        case .first:
            do {
                try await group.record(action, on: subject, by: actor, at: now, outcome: outcome, reason: reason)
            } catch {
                state.withLock { state in
                    guard let index = state.accounts.index(forKey: account),
                        let place = state.accounts.values[index].slots.firstIndex(where: { $0.key == key })
                    else { return }
                    state.accounts.values[index].slots[place].hasFirst = false
                }
                throw error
            }
        }
    }

    /// Writes the counts of minutes that have ended.
    ///
    /// - Throws: the database's error when the log cannot be written; remaining entries are retried.
    func flush(at now: Instant) async throws { try await flush(now) }

    /// Writes all counts, including the current minute's.
    ///
    /// - Throws: the database's error when the log cannot be written; remaining entries are retried.
    package func flushAll() async throws { try await flush(nil) }

    private func flush(_ now: Instant?) async throws {
        // A few at a time: requests wait for the lock.
        while !state.withLock({ $0.end(at: now, limit: 1024) }) {}
        while true {
            let counts = state.withLock { state -> [Count] in
                let taken = Array(state.ended.suffix(1024))
                state.ended.removeLast(taken.count)
                return taken
            }
            guard !counts.isEmpty else { return }
            for (place, count) in counts.enumerated() {
                do {
                    try await group.record(
                        count.key.action,
                        on: count.key.subject,
                        by: AuditActor(count.key.actor),
                        at: count.last,
                        outcome: count.key.outcome,
                        reason: count.reason
                    )
                } catch {
                    state.withLock { $0.ended += counts[place...] }
                    throw error
                }
            }
        }
    }

    /// Entries with the counts that are not written yet.
    var unwritten: [AuditEntry] {
        let counts = state.withLock { state in
            state.ended
                + state.accounts.values.flatMap { account in
                    account.slots.filter { $0.more > 0 }.map { Count(key: $0.key, more: $0.more, last: $0.last) }
                }
        }
        return counts.map { count in
            AuditActor(count.key.actor).entry(
                count.key.action,
                on: count.key.subject,
                at: count.last,
                outcome: count.key.outcome,
                reason: count.reason
            )
        }
    }

    /// No more bytes than the catalog's ids have, whole characters.
    private static func cut(_ subject: String) -> String {
        guard subject.utf8.count > subjectLimit else { return subject }
        var (end, count) = (subject.unicodeScalars.startIndex, 0)
        for index in subject.unicodeScalars.indices {
            count += UTF8.width(subject.unicodeScalars[index])
            guard count <= subjectLimit else { break }
            end = subject.unicodeScalars.index(after: index)
        }
        return String(subject.unicodeScalars[..<end])
    }
}
