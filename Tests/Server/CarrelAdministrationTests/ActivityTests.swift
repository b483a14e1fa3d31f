// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMetrics
import CarrelServer
import CarrelServerTesting
import Testing

struct `What happened lately` {
    private let clock = ManualClock(Instant(milliseconds: 1_800_000_000_000))

    @Test func `is counted by the minute and by the hour`() {
        let activity = Activity(clock: clock)
        activity.count(.signIns)
        activity.count(.positions, 3)
        clock.advance(by: .seconds(61))
        activity.count(.signIns)
        activity.refuse("expired")
        let minutes = activity.last(3, by: .minute)
        #expect(minutes.map { $0.counts[.signIns] ?? 0 } == [0, 1, 1])
        #expect(minutes.map { $0.counts[.positions] ?? 0 } == [0, 3, 0])
        #expect(minutes.last?.refusals == ["expired": 1])
        #expect(minutes.map(\.at.milliseconds) == [1_799_999_940_000, 1_800_000_000_000, 1_800_000_060_000])
        #expect(activity.last(1, by: .hour).first?.counts[.signIns] == 2)
    }

    @Test func `is forgotten, and slots are used again`() {
        let activity = Activity(clock: clock)
        activity.count(.streams)
        clock.advance(by: .seconds(180 * 60))
        #expect(activity.last(500, by: .minute).count == 180)
        #expect(activity.last(500, by: .minute).allSatisfy { $0.counts.isEmpty })
        activity.count(.segments)
        #expect(activity.last(1, by: .minute).first?.counts == [.segments: 1])
        #expect(activity.last(4, by: .hour).first?.counts == [.streams: 1])
    }

    @Test func `distinguishes a limited number of reasons`() {
        let activity = Activity(clock: clock)
        for number in 0..<1000 { activity.refuse("reason \(number)") }
        let refusals = activity.last(1, by: .minute)[0].refusals
        #expect(refusals.count == 33)
        #expect(refusals["other"] == 968)
    }
}
