// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The time by the clock of an MPD (ISO/IEC 23009-1 §5.8.5.7), carried on by a clock of this machine that no adjustment sets.
struct ManifestClock: Sendable {
    private var known: (time: Instant, at: ContinuousClock.Instant)?

    /// An MPD that a cache keeps tells the time at which it was made: it may be older by this.
    private static let staleness = Duration.seconds(10)

    /// The time now: that of this machine where no clock has told it.
    var now: Instant { known.map { Self.time($0, at: .now) } ?? .now() }

    private static func time(_ known: (time: Instant, at: ContinuousClock.Instant), at moment: ContinuousClock.Instant) -> Instant
    {
        known.time + known.at.duration(to: moment)
    }

    /// Takes the time that a clock tells.
    ///
    /// - Parameters:
    ///   - time: the time.
    ///   - moment: when it was that time.
    mutating func set(_ time: Instant, at moment: ContinuousClock.Instant) { known = (time, moment) }

    /// Takes the time that an MPD tells, unless a cache explains why it is behind.
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
