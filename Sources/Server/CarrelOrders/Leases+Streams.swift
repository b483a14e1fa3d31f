// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelThreads

extension Leases {
    /// A place for a stream that is being written: it counts from the decision on, and is in the ledger once it is committed.
    package struct Reservation: Sendable {
        let number: UInt64
    }

    struct Reserved {
        let subject: String
        let stream: String
        /// The listeners that lost their places to it.
        let evicted: [String: Lease]
        /// The streams that did.
        let ending: [String]
    }

    /// The result of a stream's request for a slot.
    package enum Place: Equatable, Sendable {
        /// It has a slot if these streams are ended in the same transaction.
        case held(ending: [String])
        case refused(retryAfter: Int64)
    }

    /// A number for a stream that may take a place.
    package func reservation() -> Reservation {
        state.withLock { state in
            state.lastReservation += 1
            return Reservation(number: state.lastReservation)
        }
    }

    /// Reserves a place for a stream, in the transaction that writes it. A repeated attempt of the same reservation replaces the
    /// former.
    ///
    /// - Parameters:
    ///   - reservation: to be settled after the transaction.
    ///   - stream: its id.
    ///   - subject: the subject whose limit applies.
    ///   - streams: the subject's streams, as the transaction sees them.
    ///   - now: the time.
    /// - Returns: whether a place was free.
    package func reserve(
        _ reservation: Reservation,
        _ stream: String,
        of subject: String,
        beside streams: [CountedStream],
        at now: Instant
    ) -> Place {
        guard limit > 0 else { return .held(ending: []) }
        return state.withLock { state in
            Self.restore(reservation, &state)
            let live = Self.live(state, subject, at: now)
            let others = streams.filter { $0.id != stream && !state.ending.contains($0.id) }
            let held = live.count + others.count
            var (ending, evicted): ([String], [String: Lease]) = ([], [:])
            if held >= limit {
                guard mode == .evictOldest, let ended = Self.evict(held - limit + 1, &state, subject, others, at: now) else {
                    let ends = live.values.map { $0.last + Self.life } + others.map(\.until)
                    return .refused(retryAfter: Self.seconds(from: now, to: ends.min() ?? now))
                }
                (ending, evicted) = (ended.streams, ended.listeners)
            }
            state.ending.formUnion(ending)
            state.reservations[reservation.number] = Reserved(
                subject: subject,
                stream: stream,
                evicted: evicted,
                ending: ending
            )
            return .held(ending: ending)
        }
    }

    /// Ends a reservation after its transaction.
    ///
    /// - Parameters:
    ///   - reservation: a reservation, with or without a slot.
    ///   - isCommitted: whether the stream is in the ledger now; otherwise the replaced listeners get their slots back.
    package func settle(_ reservation: Reservation, isCommitted: Bool) {
        state.withLock { state in
            guard isCommitted else { return Self.restore(reservation, &state) }
            guard let place = state.reservations.removeValue(forKey: reservation.number) else { return }
            state.ending.subtract(place.ending)
            state.changes[Self.bucket(place.subject)] &+= 1
        }
    }

    /// Has the ledger read again for a subject: one of its streams ended.
    package func noteEnd(of subject: String) {
        state.withLock { $0.changes[Self.bucket(subject)] &+= 1 }
    }

    private static func restore(_ reservation: Reservation, _ state: inout State) {
        guard let place = state.reservations.removeValue(forKey: reservation.number) else { return }
        state.ending.subtract(place.ending)
        restore(place.evicted, of: place.subject, &state)
        state.changes[bucket(place.subject)] &+= 1
    }

    /// Gives listeners the places back that they lost to a stream that was not written.
    static func restore(_ listeners: [String: Lease], of subject: String, _ state: inout State) {
        for (listener, lease) in listeners {
            state.evicted[subject]?[listener] = nil
            if state.listeners[subject]?[listener] == nil { state.listeners[subject, default: [:]][listener] = lease }
        }
    }

    /// Takes the places of the oldest listeners and streams; nil if there are fewer.
    static func evict(
        _ count: Int,
        _ state: inout State,
        _ subject: String,
        _ streams: [CountedStream],
        at now: Instant
    ) -> (listeners: [String: Lease], streams: [String])? {
        let live = live(state, subject, at: now)
        let candidates =
            live.map { (since: $0.value.since, id: $0.key, isStream: false) }
            + streams.map { (since: $0.since, id: $0.id, isStream: true) }
        guard candidates.count >= count else { return nil }
        let oldest = candidates.sorted { ($0.since, $0.id) < ($1.since, $1.id) }.prefix(count)
        let listeners = live.filter { name, _ in oldest.contains { !$0.isStream && $0.id == name } }
        for name in listeners.keys {
            state.listeners[subject]?[name] = nil
            state.evicted[subject, default: [:]][name] = now + life
        }
        return (listeners, oldest.filter(\.isStream).map(\.id))
    }
}
