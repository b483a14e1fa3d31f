// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelThreads

/// Leases on listening: bound how many listeners one subject (an account, or an order if orders are capabilities) has at the same
/// time, together with its other streams, which a ``StreamLedger`` reports.
///
/// A lease is taken and renewed by requests of keys and segments, and renewed by reports of positions. It ends two minutes after the
/// last of them. Leases are kept in memory: after a restart every listener takes a new one.
package final class Leases: Sendable {
    /// Lifetime of a lease after its last renewal, and the time for which a listener that lost its place is refused.
    package static let life = Duration.seconds(120)

    /// The consequence of exceeding a subject's limit.
    package enum Mode: String, Sendable, CaseIterable {
        /// A further stream is refused.
        case blockNewDevice = "BLOCK_NEW_DEVICE"
        /// The oldest stream ends.
        case evictOldest = "EVICT_OLDEST"
        /// Streams are not counted.
        case none = "NONE"
    }

    struct Lease {
        let since: Instant
        var last: Instant
    }

    struct Refusal {
        let until: Instant
        let mark: UInt64
        let outcome: Outcome
    }

    struct State {
        var listeners: [String: [String: Lease]] = [:]
        /// Listeners that lost their slot to a newer listener, and the end of their refusal.
        var evicted: [String: [String: Instant]] = [:]
        var reservations: [UInt64: Reserved] = [:]
        var lastReservation: UInt64 = 0
        /// Streams that lost their place and are about to be ended.
        var ending: Set<String> = []
        /// Subjects whose streams took all slots, and the time until which the ledger is not read again.
        var refused: [String: Refusal] = [:]
        /// Numbers that grow when a stream of a subject took or gave back a place; by hash, so that their count is bounded.
        var changes = [UInt64](repeating: 0, count: 256)
        var sweepAt = Instant(milliseconds: 0)
    }

    /// The maximum number of counted listeners of a subject without a limit.
    private static let noted = 1000
    /// Time for which a subject's refusal is repeated without the ledger.
    private static let refusalLife = Duration.seconds(1)
    /// The maximum number of ledger reads for one new listener: it is read again if a stream took a slot meanwhile.
    private static let readings = 8

    /// Maximum number of concurrent streams per subject; 0 = unlimited.
    package let limit: Int
    let mode: Mode
    let state = Locked(State())
    private let ledger = Locked<(any StreamLedger)?>(nil)

    /// - Parameters:
    ///   - limit: maximum number of concurrent streams per subject; 0 = unlimited.
    ///   - mode: the consequence of exceeding the limit.
    package init(limit: Int, mode: Mode = .blockNewDevice) {
        self.limit = mode == .none ? 0 : limit
        self.mode = mode
    }

    /// Counts the streams of a ledger along with the listeners.
    package func count(_ streams: any StreamLedger) {
        ledger.withLock { $0 = streams }
    }

    /// The outcome of a lease request.
    package enum Outcome: Equatable, Sendable {
        case held
        /// All places are taken; the first may be free in this many seconds.
        case refused(retryAfter: Int64)
    }

    /// Takes or renews the lease of `listener` on `subject`. The ledger is only read for a new listener.
    ///
    /// - Parameters:
    ///   - subject: an account, or an order.
    ///   - listener: its name.
    ///   - now: the time.
    /// - Returns: whether it may listen.
    /// - Throws: the ledger's error.
    package func take(_ subject: String, _ listener: String, at now: Instant) async throws -> Outcome {
        if let known = known(subject, listener, at: now) { return known }
        guard let ledger = ledger.withLock(\.self) else { return renew(subject, listener, at: now) }
        for _ in 0..<Self.readings {
            let mark = state.withLock { $0.changes[Self.bucket(subject)] }
            let streams = try await ledger.streams(of: subject, at: now)
            let decision = state.withLock { state -> (outcome: Outcome, ending: [String], listeners: [String: Lease])? in
                guard state.changes[Self.bucket(subject)] == mark else { return nil }
                let decision = decide(subject, listener, &state, beside: streams, at: now)
                if case .refused = decision.outcome {
                    if state.refused.count >= Self.noted { state.refused.removeAll() }
                    state.refused[subject] = Refusal(until: now + Self.refusalLife, mark: mark, outcome: decision.outcome)
                }
                return decision
            }
            guard let decision else { continue }
            guard !decision.ending.isEmpty else { return decision.outcome }
            // The next reading sees that they ended.
            defer {
                state.withLock { state in
                    state.ending.subtract(decision.ending)
                    state.changes[Self.bucket(subject)] &+= 1
                }
            }
            do {
                try await ledger.end(decision.ending, of: subject, at: now)
            } catch {
                state.withLock { state in
                    _ = state.listeners[subject]?.removeValue(forKey: listener)
                    Self.restore(decision.listeners, of: subject, &state)
                }
                throw error
            }
            return decision.outcome
        }
        return .refused(retryAfter: 1)
    }

    /// The result if the ledger is not needed: for a listener with a live lease, for one that lost its slot, and if listeners
    /// alone take all slots.
    private func known(_ subject: String, _ listener: String, at now: Instant) -> Outcome? {
        state.withLock { state -> Outcome? in
            Self.sweep(&state, at: now)
            if let until = state.evicted[subject]?[listener], now < until {
                return .refused(retryAfter: Self.seconds(from: now, to: until))
            }
            if let own = state.listeners[subject]?[listener], now - own.last < Self.life {
                state.listeners[subject]?[listener]?.last = now
                return .held
            }
            if let refusal = state.refused[subject], now < refusal.until, refusal.mark == state.changes[Self.bucket(subject)] {
                return refusal.outcome
            }
            if limit == 0 { return decide(subject, listener, &state, beside: [], at: now).outcome }
            guard mode == .blockNewDevice else { return nil }
            let live = Self.live(state, subject, at: now)
            guard live.count >= limit, let first = live.values.map(\.last).min() else { return nil }
            return .refused(retryAfter: Self.seconds(from: now, to: first + Self.life))
        }
    }

    /// Takes or renews the lease of `listener` on `subject`, if there are no other streams.
    package func renew(_ subject: String, _ listener: String, at now: Instant) -> Outcome {
        if let known = known(subject, listener, at: now) { return known }
        return state.withLock { decide(subject, listener, &$0, beside: [], at: now).outcome }
    }

    private func decide(
        _ subject: String,
        _ listener: String,
        _ state: inout State,
        beside streams: [CountedStream],
        at now: Instant
    ) -> (outcome: Outcome, ending: [String], listeners: [String: Lease]) {
        let live = Self.live(state, subject, at: now)
        state.listeners[subject] = live.isEmpty ? nil : live
        guard live[listener] == nil else {
            state.listeners[subject]?[listener]?.last = now
            return (.held, [], [:])
        }
        guard limit > 0 else {
            if live.count < Self.noted { state.listeners[subject, default: [:]][listener] = Lease(since: now, last: now) }
            return (.held, [], [:])
        }
        let others = streams.filter { !state.ending.contains($0.id) }
        let pending = state.reservations.values.filter { place in
            place.subject == subject && !others.contains { $0.id == place.stream }
        }
        let held = live.count + others.count + pending.count
        if held >= limit {
            let ends = live.values.map { $0.last + Self.life } + others.map(\.until)
            let refused = Outcome.refused(retryAfter: Self.seconds(from: now, to: ends.min() ?? now))
            guard mode == .evictOldest, let ended = Self.evict(held - limit + 1, &state, subject, others, at: now) else {
                return (refused, [], [:])
            }
            state.ending.formUnion(ended.streams)
            state.listeners[subject, default: [:]][listener] = Lease(since: now, last: now)
            return (.held, ended.streams, ended.listeners)
        }
        state.listeners[subject, default: [:]][listener] = Lease(since: now, last: now)
        return (.held, [], [:])
    }

    /// Renews an existing lease of a listener; never takes a new one.
    package func touch(_ subject: String, _ listener: String, at now: Instant) {
        state.withLock { state in
            guard let own = state.listeners[subject]?[listener], now - own.last < Self.life else { return }
            state.listeners[subject]?[listener]?.last = now
        }
    }

    /// The current streams of a subject; takes no lease.
    ///
    /// - Parameters:
    ///   - subject: an account, or an order.
    ///   - now: the time.
    /// - Returns: the number of streams, the limit (0 = unlimited), and if all slots are taken, the seconds until the first is
    ///   free unless renewed.
    /// - Throws: the ledger's error.
    package func usage(of subject: String, at now: Instant) async throws -> (held: Int, limit: Int, wait: Int64?) {
        let streams = try await ledger.withLock(\.self)?.streams(of: subject, at: now) ?? []
        let live = state.withLock { Self.live($0, subject, at: now).values.map { $0.last + Self.life } } + streams.map(\.until)
        guard limit > 0, live.count >= limit, let first = live.min() else { return (live.count, limit, nil) }
        return (live.count, limit, Self.seconds(from: now, to: first))
    }

    static func seconds(from now: Instant, to free: Instant) -> Int64 {
        max(1, (free.milliseconds - now.milliseconds + 999) / 1000)
    }

    static func live(_ state: borrowing State, _ subject: String, at now: Instant) -> [String: Lease] {
        state.listeners[subject, default: [:]].filter { now - $0.value.last < Self.life }
    }

    static func bucket(_ subject: String) -> Int { Int(UInt(bitPattern: subject.hashValue) % 256) }

    /// Leases held now, for the metrics.
    package func count(at now: Instant) -> Int {
        state.withLock { state in
            state.listeners.values.reduce(0) { sum, held in
                sum + held.values.count { now - $0.last < Self.life }
            }
        }
    }

    /// Deletes expired leases, once a minute, to limit memory.
    private static func sweep(_ state: inout State, at now: Instant) {
        guard now >= state.sweepAt else { return }
        state.sweepAt = now + .seconds(60)
        for (subject, held) in state.listeners {
            let live = held.filter { now - $0.value.last < Self.life }
            state.listeners[subject] = live.isEmpty ? nil : live
        }
        state.refused = state.refused.filter { now < $0.value.until }
        for (subject, held) in state.evicted {
            let live = held.filter { now < $0.value }
            state.evicted[subject] = live.isEmpty ? nil : live
        }
    }
}
