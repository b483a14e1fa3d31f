package import CarrelBytes
import CarrelThreads

/// Leases on listening: bound how many listeners one subject (an account, or an order where orders are capabilities) has at the
/// same time.
///
/// A lease is taken and renewed by requests of keys and segments, and renewed by reports of positions. It ends two minutes after the
/// last of them. Leases are kept in memory: after a restart every listener takes a new one.
package final class Leases: Sendable {
    /// Lifetime of a lease after its last renewal.
    package static let life = Duration.seconds(120)

    private struct State {
        var listeners: [String: [String: Instant]] = [:]
        var sweepAt = Instant(milliseconds: 0)
    }

    /// Listeners of one subject that are counted where any number may listen.
    private static let noted = 1000

    /// Maximum number of concurrent listeners per subject; 0 = unlimited.
    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: maximum number of concurrent listeners per subject; 0 = unlimited.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The outcome of a lease request.
    package enum Outcome: Equatable, Sendable {
        case held
        /// All places are taken; the first may be free in this many seconds.
        case refused(retryAfter: Int64)
    }

    /// Takes or renews the lease of `listener` on `subject`.
    package func renew(_ subject: String, _ listener: String, at now: Instant) -> Outcome {
        state.withLock { state -> Outcome in
            Self.sweep(&state, at: now)
            let own = state.listeners[subject]?[listener]
            if own.map({ now - $0 >= Self.life }) ?? true, let others = state.listeners[subject] {
                let live = others.filter { now - $0.value < Self.life }
                state.listeners[subject] = live
                if live.count >= (limit > 0 ? limit : Self.noted), let oldest = live.values.min() {
                    guard limit > 0 else { return .held }
                    return .refused(retryAfter: Self.seconds(from: now, to: oldest + Self.life))
                }
            }
            state.listeners[subject, default: [:]][listener] = now
            return .held
        }
    }

    /// Renews the lease of a listener that holds one; takes none.
    package func touch(_ subject: String, _ listener: String, at now: Instant) {
        state.withLock { state in
            guard let last = state.listeners[subject]?[listener], now - last < Self.life else { return }
            state.listeners[subject]?[listener] = now
        }
    }

    /// The current listeners of a subject; takes no lease.
    ///
    /// - Parameters:
    ///   - subject: an account, or an order.
    ///   - now: the time.
    /// - Returns: how many listen, how many may (0 means any number), and where all places are taken, in how many seconds the first
    ///   is free if it is not renewed.
    package func usage(of subject: String, at now: Instant) -> (held: Int, limit: Int, wait: Int64?) {
        let live = state.withLock { $0.listeners[subject, default: [:]].values.filter { now - $0 < Self.life } }
        guard limit > 0, live.count >= limit, let oldest = live.min() else { return (live.count, limit, nil) }
        return (live.count, limit, Self.seconds(from: now, to: oldest + Self.life))
    }

    private static func seconds(from now: Instant, to free: Instant) -> Int64 {
        max(1, (free.milliseconds - now.milliseconds + 999) / 1000)
    }

    /// Leases held now, for the metrics.
    package func count(at now: Instant) -> Int {
        state.withLock { state in
            state.listeners.values.reduce(0) { sum, held in
                sum + held.values.count { now - $0 < Self.life }
            }
        }
    }

    /// Deletes expired leases, once a minute, to limit memory.
    private static func sweep(_ state: inout State, at now: Instant) {
        guard now >= state.sweepAt else { return }
        state.sweepAt = now + .seconds(60)
        for (subject, held) in state.listeners {
            let live = held.filter { now - $0.value < Self.life }
            state.listeners[subject] = live.isEmpty ? nil : live
        }
    }
}
