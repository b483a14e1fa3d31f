// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The time by the clock of an MPD (ISO/IEC 23009-1 §5.8.5.7), carried on by a clock of this machine that no adjustment sets.
struct ManifestClock: Sendable {
    private var known: (time: Instant, at: ContinuousClock.Instant)?

    /// Tolerance for the time in an MPD, which is the time of its creation: a cached copy may be older by this.
    private static let staleness = Duration.seconds(10)

    /// The current time: this machine's, unless a clock was read.
    func now(at moment: ContinuousClock.Instant) -> Instant { known.map { Self.time($0, at: moment) } ?? .now() }

    private static func time(_ known: (time: Instant, at: ContinuousClock.Instant), at moment: ContinuousClock.Instant) -> Instant
    {
        known.time + known.at.duration(to: moment)
    }

    /// Sets the time read from a clock.
    ///
    /// - Parameters:
    ///   - time: the time.
    ///   - moment: when the clock showed it.
    mutating func set(_ time: Instant, at moment: ContinuousClock.Instant) { known = (time, moment) }

    /// Takes the time from an MPD, unless a stale cached copy explains why it is late.
    ///
    /// - Parameters:
    ///   - time: the time.
    ///   - moment: when the MPD was requested.
    mutating func take(_ time: Instant, at moment: ContinuousClock.Instant) {
        if let known {
            let expected = Self.time(known, at: moment)
            if time < expected, expected - time <= Self.staleness { return }
        }
        known = (time, moment)
    }
}
