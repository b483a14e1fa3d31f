// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSubscription
import Testing

final class `A circuit breaker` {
    private var breaker = CircuitBreaker()
    private var now = Instant(milliseconds: 1_800_000_000_000)

    private func admit() -> CircuitBreaker.Admission? { breaker.admit(at: now) }

    /// Asks once; whether that was allowed.
    private func ask(_ outcome: CircuitBreaker.Outcome) -> Bool {
        guard let admission = admit() else { return false }
        breaker.end(admission, outcome, at: now)
        return true
    }

    private func fail(_ count: Int, every step: Duration = .zero) {
        for _ in 0..<count {
            #expect(ask(.failed))
            now += step
        }
    }

    @Test func `opens at the fifth failure within ten seconds`() {
        fail(4)
        #expect(breaker.state == .closed)
        fail(1)
        #expect(breaker.state == .open(until: now + .seconds(5)))
        #expect(admit() == nil)
    }

    @Test func `stays closed while failures come slowly, or do not say anything`() {
        fail(20, every: .milliseconds(2500))
        #expect(breaker.state == .closed)
        for _ in 0..<20 { #expect(ask(.inconclusive)) }
        #expect(breaker.state == .closed)
    }

    @Test func `counts failures although others are answered`() {
        for _ in 0..<4 {
            #expect(ask(.failed))
            #expect(ask(.answered))
        }
        #expect(ask(.failed))
        #expect(breaker.state != .closed)
    }

    @Test func `lets one question probe after the pause, and closes when it is answered`() throws {
        fail(5)
        now += .milliseconds(4999)
        #expect(admit() == nil)
        now += .milliseconds(1)
        let probe = try #require(admit())
        #expect(breaker.state == .probing(since: now))
        #expect(admit() == nil)
        breaker.end(probe, .answered, at: now)
        #expect(breaker.state == .closed)
        fail(4)
        #expect(breaker.state == .closed)
    }

    @Test func `waits twice as long after each probe that fails, up to a minute`() {
        fail(5)
        for pause in [10, 20, 40, 60, 60] {
            now += .seconds(60)
            #expect(ask(.failed))
            #expect(breaker.state == .open(until: now + .seconds(pause)))
            #expect(admit() == nil)
        }
        now += .seconds(60)
        #expect(ask(.answered))
        fail(5)
        #expect(breaker.state == .open(until: now + .seconds(5)))
    }

    @Test func `lets another question probe when the first was given up or is never heard of again`() throws {
        fail(5)
        now += .seconds(5)
        #expect(ask(.inconclusive))
        let lost = try #require(admit())
        now += .milliseconds(59_999)
        #expect(admit() == nil)
        now += .milliseconds(1)
        let probe = try #require(admit())
        breaker.end(lost, .answered, at: now)
        #expect(breaker.state == .probing(since: now))
        breaker.end(probe, .failed, at: now)
        #expect(breaker.state == .open(until: now + .seconds(10)))
    }

    @Test func `is not changed by answers to questions from before`() throws {
        let early = try #require(admit())
        fail(5)
        let state = breaker.state
        breaker.end(early, .answered, at: now)
        #expect(breaker.state == state)
        breaker.end(early, .failed, at: now)
        #expect(breaker.state == state)
    }

    @Test func `does not stay open when the clock is set back`() {
        fail(5)
        now -= .seconds(86_400)
        #expect(ask(.answered))
        #expect(breaker.state == .closed)
    }
}
