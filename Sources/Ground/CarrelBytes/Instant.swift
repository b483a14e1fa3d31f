// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A point in time, to the millisecond. Leap seconds do not exist in it, as in POSIX.
public struct Instant: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public let milliseconds: Int64

    /// Creates an instant.
    ///
    /// - Parameter milliseconds: since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The time of the system's clock. Code with a rule about time takes a `WallClock` instead.
    public static func now() -> Instant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    public static func < (a: Instant, b: Instant) -> Bool { a.milliseconds < b.milliseconds }

    /// The instant `milliseconds` later, or earlier when negative.
    ///
    /// - Parameter milliseconds: the distance; negative for an earlier instant.
    /// - Returns: the moved instant.
    public func advanced(byMilliseconds milliseconds: Int64) -> Instant {
        Instant(milliseconds: self.milliseconds + milliseconds)
    }

    /// The instant `duration` later; parts of a millisecond are dropped.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        instant.advanced(byMilliseconds: duration.wholeMilliseconds)
    }

    /// The instant `duration` earlier; parts of a millisecond are dropped.
    public static func - (instant: Instant, duration: Duration) -> Instant {
        instant.advanced(byMilliseconds: -duration.wholeMilliseconds)
    }

    /// The time from `earlier` to `later`; negative when they are the other way round.
    ///
    /// - Parameters:
    ///   - later: the end of the time.
    ///   - earlier: its start.
    /// - Returns: the duration, in whole milliseconds.
    public static func - (later: Instant, earlier: Instant) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// Moves an instant forward.
    public static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }
    /// Moves an instant back.
    public static func -= (instant: inout Instant, duration: Duration) { instant = instant - duration }
}

extension Duration {
    /// Milliseconds, rounded toward zero.
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension Instant {
    /// The instant of a date and a time of day in UTC; nil if there is none.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int = 0) {
        guard let date = CivilDate(year: year, month: month, day: day),
            0...23 ~= hour, 0...59 ~= minute, 0...59 ~= second
        else { return nil }
        let seconds = ((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
        milliseconds = Int64(seconds) * 1000 + Int64(millisecond)
    }

    /// The day, and the milliseconds since it began, in UTC.
    var dateAndTime: (date: CivilDate, milliseconds: Int) {
        let (days, remainder) = milliseconds.flooredDivision(by: 86_400_000)
        return (CivilDate(daysSince1970: Int(days)), Int(remainder))
    }
}
