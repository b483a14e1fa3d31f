// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import Testing

struct `Leases on listening` {
    private let now = Instant(milliseconds: 1_800_000_000_000)

    @Test func `admit as many listeners as the limit, and name the wait to the next`() {
        let leases = Leases(limit: 2)
        #expect(leases.renew("order", "phone", at: now) == .held)
        #expect(leases.renew("order", "tablet", at: now + .milliseconds(10_000)) == .held)
        #expect(leases.renew("order", "laptop", at: now + .milliseconds(20_000)) == .refused(retryAfter: 100))
        #expect(leases.renew("order", "phone", at: now + .milliseconds(30_000)) == .held, "who holds one renews it")
        #expect(leases.renew("another order", "laptop", at: now) == .held)
        #expect(leases.count(at: now + .milliseconds(30_000)) == 3)
    }

    @Test func `run out two minutes after the last renewal, not before`() {
        let leases = Leases(limit: 1)
        _ = leases.renew("order", "phone", at: now)
        #expect(leases.renew("order", "laptop", at: now + .milliseconds(119_999)) != .held)
        #expect(leases.count(at: now + .milliseconds(119_999)) == 1)
        #expect(leases.count(at: now + .milliseconds(120_000)) == 0)
        #expect(leases.renew("order", "laptop", at: now + .milliseconds(120_000)) == .held)
        #expect(leases.renew("order", "phone", at: now + .milliseconds(120_001)) != .held, "the place is taken now")
    }

    @Test func `are prolonged by a report of positions, which takes none`() {
        let leases = Leases(limit: 1)
        leases.touch("order", "laptop", at: now)
        #expect(leases.count(at: now) == 0)
        _ = leases.renew("order", "phone", at: now)
        leases.touch("order", "phone", at: now + .seconds(100))
        #expect(leases.renew("order", "laptop", at: now + .seconds(200)) != .held)
        #expect(leases.renew("order", "laptop", at: now + .seconds(220)) == .held)
        leases.touch("order", "phone", at: now + .seconds(230))
        #expect(leases.count(at: now + .seconds(230)) == 1, "a lease that has ended is not brought back by a report")
        #expect(leases.renew("order", "phone", at: now + .seconds(230)) != .held, "nor by having been there")
    }

    @Test func `are counted where there is no limit, as far as a thousand of each`() {
        let leases = Leases(limit: 0)
        for listener in 0..<100 { #expect(leases.renew("order", "\(listener)", at: now) == .held) }
        #expect(leases.count(at: now) == 100)
        for listener in 0..<5000 { #expect(leases.renew("busy", "\(listener)", at: now) == .held) }
        #expect(leases.count(at: now) == 1100)
        #expect(leases.count(at: now + Leases.life) == 0)
    }

    @Test func `forget listeners that are gone`() {
        let leases = Leases(limit: 3)
        for order in 0..<1000 { _ = leases.renew("order \(order)", "phone", at: now) }
        _ = leases.renew("last", "phone", at: now + .milliseconds(1_000_000))
        #expect(leases.count(at: now) == 1, "the others were swept, even for an earlier clock")
    }

    @Test func `are forgotten by who asks a minute after the last time, when they have run out`() {
        func swept(after seconds: Int) -> Int {
            let leases = Leases(limit: 3)
            _ = leases.renew("first", "phone", at: now)
            _ = leases.renew("second", "phone", at: now + .seconds(60))
            _ = leases.renew("third", "phone", at: now + .seconds(60 + seconds))
            return leases.count(at: now)
        }
        #expect([swept(after: 59), swept(after: 60)] == [3, 2])
    }
}
