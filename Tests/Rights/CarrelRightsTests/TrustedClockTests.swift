// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelBytes
import CarrelRights
import Testing

struct `A trusted clock` {
    static let start = Instant(milliseconds: 1_800_000_000_000)

    static func host(_ wall: Duration, boot: String = "a", since: Duration? = .seconds(100)) -> HostClock {
        HostClock(wall: start + wall, bootID: boot, sinceBoot: since)
    }

    static func signed() -> TrustedClock {
        var clock = TrustedClock()
        clock.take(start, on: host(.zero))
        return clock
    }

    @Test func `runs from what the service signed, whatever the wall clock shows`() {
        let clock = Self.signed()
        for wall in [Duration.seconds(-400_000_000), .zero, .seconds(60), .seconds(400_000_000)] {
            let reading = clock.read(on: Self.host(wall, since: .seconds(160)))
            #expect(reading == .init(instant: Self.start + .seconds(60), certainty: .signed))
        }
    }

    /// After another boot: the wall clock relative to the mark, and how sure it is.
    @Test(arguments: [
        (Duration.zero, TrustedClock.Certainty.estimated, Duration.zero),
        (.seconds(3600), .estimated, .seconds(3600)),
        (.seconds(-299), .estimated, .zero),
        (.seconds(-301), .rolledBack, .zero),
        (.seconds(-400_000_000), .rolledBack, .zero),
        (.seconds(31 * 86_400), .estimated, .seconds(31 * 86_400)),
        (.seconds(31 * 86_400 + 1), .farAhead, .seconds(31 * 86_400 + 1)),
    ])
    func `of another boot follows the wall clock, but not back`(wall: Duration, certainty: TrustedClock.Certainty, time: Duration)
    {
        let reading = Self.signed().read(on: Self.host(wall, boot: "b"))
        #expect(reading == .init(instant: Self.start + time, certainty: certainty))
    }

    @Test func `that cannot be read is not zero`() {
        let clock = Self.signed()
        #expect(clock.read(on: Self.host(.zero, since: nil)).certainty == .unreadable)
        #expect(clock.read(on: Self.host(.zero, boot: "")) == .init(instant: Self.start, certainty: .unreadable))
    }

    @Test func `keeps the time that passed before it notices that the wall clock was set back`() {
        var clock = Self.signed()
        clock.advance(on: Self.host(.seconds(-9_999_999), since: .seconds(7300)))
        #expect(clock.mark == Self.start + .seconds(7200))
        let reading = clock.read(on: Self.host(.seconds(3600), boot: "b"))
        #expect(reading == .init(instant: Self.start + .seconds(7200), certainty: .rolledBack))
        var back = clock
        back.advance(on: Self.host(.seconds(3600), boot: "b"))
        #expect(back.mark == clock.mark)
        // from then on the time since the boot counts, though the wall clock is held
        let held = back.read(on: Self.host(.seconds(7200), boot: "b", since: .seconds(3700)))
        #expect(held == .init(instant: Self.start + .seconds(7200 + 3600), certainty: .rolledBack))
    }

    @Test func `is not moved by a wall clock that is far ahead, and is corrected by the service`() {
        var clock = Self.signed()
        clock.advance(on: Self.host(.seconds(90 * 86_400), boot: "b"))
        #expect(clock.mark == Self.start)
        clock.advance(on: Self.host(.seconds(20 * 86_400), boot: "b"))
        #expect(clock.mark == Self.start + .seconds(20 * 86_400))
        clock.take(Self.start + .seconds(60), on: Self.host(.seconds(20 * 86_400), boot: "b"))
        #expect(clock.mark == Self.start + .seconds(60))
        #expect(clock.read(on: Self.host(.zero, boot: "b")).certainty == .signed)
    }

    @Test func `that has seen nothing takes the wall clock`() {
        #expect(TrustedClock().read(on: Self.host(.zero)) == .init(instant: Self.start, certainty: .estimated))
        var clock = TrustedClock()
        clock.take(Self.start, on: Self.host(.zero, since: nil))
        #expect(clock.signed == nil, "a time counts only with the time since the boot")
    }

    @Test func `treats a decreased time since boot as another boot`() {
        #expect(Self.signed().read(on: Self.host(.zero, since: .seconds(99))).certainty == .estimated)
    }

    @Test func `is the same after it was kept`() throws {
        let clock = Self.signed()
        #expect(try TrustedClock(clock.json) == clock)
        #expect(try TrustedClock(TrustedClock().json) == TrustedClock())
        #expect(throws: RightsError(.malformed)) { try TrustedClock(["boot": "a"]) }
    }
}
