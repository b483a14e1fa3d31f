// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Stops requests to a system that does not respond: after some failures in a short time, requests are held back for a while,
/// then one probes.
///
/// A pure value: the caller passes it the time, and the outcome of each permitted request.
package struct CircuitBreaker: Sendable {
    package struct Limits: Sendable, Equatable {
        /// So many failures…
        package var failures = 5
        /// …within this time stop the questions…
        package var window = Duration.seconds(10)
        /// …for this time, and twice as long after each probe that fails…
        package var pause = Duration.seconds(5)
        /// …up to this.
        package var longestPause = Duration.seconds(60)
        /// A probe without a reported outcome expires after this time.
        package var probePatience = Duration.seconds(60)

        package init() {}
    }

    package enum State: Sendable, Equatable {
        case closed
        /// No request before this time.
        case open(until: Instant)
        /// One question is on its way since this time.
        case probing(since: Instant)
    }

    /// The outcome of a request.
    package enum Outcome: Sendable {
        case answered
        case failed
        /// The outcome shows nothing about the system: the caller gave up, or the request itself was at fault.
        case inconclusive
    }

    /// Lets one question pass.
    package struct Admission: Sendable {
        fileprivate let isProbe: Bool
        fileprivate let period: Int
    }

    package private(set) var state = State.closed
    private let limits: Limits
    /// When questions failed, within the window.
    private var failures: [Instant] = []
    private var pause: Duration
    /// Counts state changes, so that the outcome of an old request has no effect.
    private var period = 0

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
        pause = limits.pause
    }

    /// A permit for a request now; nil for none. Report the end of the request to ``end(_:_:at:)``.
    package mutating func admit(at now: Instant) -> Admission? {
        switch state {
        case .closed: return Admission(isProbe: false, period: period)
        case .open(let until):
            // A clock that was set back must not keep it open for years.
            guard now >= until || until - now > limits.longestPause else { return nil }
        case .probing(let since):
            guard now - since >= limits.probePatience || now < since else { return nil }
        }
        change(to: .probing(since: now))
        return Admission(isProbe: true, period: period)
    }

    package mutating func end(_ admission: Admission, _ outcome: Outcome, at now: Instant) {
        guard admission.period == period else { return }
        switch outcome {
        case .answered where admission.isProbe:
            pause = limits.pause
            failures = []
            change(to: .closed)
        case .answered: break
        case .inconclusive where admission.isProbe: change(to: .open(until: now))  // the next one probes
        case .inconclusive: break
        case .failed where admission.isProbe:
            pause = min(pause * 2, limits.longestPause)
            change(to: .open(until: now + pause))
        case .failed:
            failures.removeAll { now - $0 >= limits.window || $0 > now }
            failures.append(now)
            guard failures.count >= limits.failures else { return }
            failures = []
            change(to: .open(until: now + pause))
        }
    }

    private mutating func change(to state: State) {
        self.state = state
        period += 1
    }
}
