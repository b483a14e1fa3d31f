// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSubscription
import Testing

struct `The answer without the upstream system` {
    private typealias Memory = FailPolicy.Memory

    private static let now = Instant(milliseconds: 1_800_000_000_000)
    private static let policies: [FailPolicy] = [
        .closed, .lastKnownGood(.seconds(3600)), .open(.seconds(3600), perMinute: 10),
    ]

    private static func ago(_ seconds: Int) -> Instant { now - .seconds(seconds) }

    /// The table, written down a second time: every state of a token × suspension × age of its confirmation × age of a grant.
    @Test(arguments: policies)
    func `follows the table`(policy: FailPolicy) {
        var cases = 0
        for token in Memory.Token.allCases {
            for isSuspended in [false, true] {
                for confirmed in [-1, 0, 3599, 3600, 7200] {
                    for granted in [nil, -1, 0, 3599, 3600, 7200] {
                        let memory = Memory(
                            token,
                            confirmedAt: Self.ago(confirmed),
                            isSuspended: isSuspended,
                            grantedAt: granted.map { Self.ago($0) }
                        )
                        let isFresh = { (age: Int) in age >= 0 && age < 3600 }
                        let expected: FailPolicy.Ruling
                        if token != .live {
                            expected = .notRecognised
                        } else if isSuspended {
                            expected = .unavailable
                        } else {
                            switch policy {
                            case .closed: expected = .unavailable
                            case .lastKnownGood:
                                expected = granted.map(isFresh) == true ? .remembered(life: .seconds(3600)) : .unavailable
                            case .open: expected = isFresh(confirmed) ? .opened(life: .seconds(900)) : .unavailable
                            }
                        }
                        #expect(policy.ruling(on: memory, at: Self.now) == expected, "\(memory)")
                        cases += 1
                    }
                }
            }
        }
        #expect(cases == 180)
        #expect(policy.ruling(on: nil, at: Self.now) == .notRecognised)
    }

    @Test func `remembers no longer than a week, and opens no longer than a day, whatever is configured`() {
        let long = Duration.seconds(365 * 86_400)
        func ruling(_ policy: FailPolicy, _ seconds: Int) -> FailPolicy.Ruling {
            policy.ruling(on: Memory(.live, confirmedAt: Self.ago(seconds), grantedAt: Self.ago(seconds)), at: Self.now)
        }
        #expect(ruling(.lastKnownGood(long), 7 * 86_400 - 1) == .remembered(life: .seconds(3600)))
        #expect(ruling(.lastKnownGood(long), 7 * 86_400) == .unavailable)
        #expect(ruling(.open(long, perMinute: 1), 86_399) == .opened(life: .seconds(900)))
        #expect(ruling(.open(long, perMinute: 1), 86_400) == .unavailable)
    }

    @Test(arguments: policies)
    func `repeats an answer only where that is the policy`(policy: FailPolicy) {
        let isPolicy = policy == .lastKnownGood(.seconds(3600))
        func may(_ token: Memory.Token, _ age: Int, isSuspended: Bool = false) -> Bool {
            let memory = Memory(token, confirmedAt: Self.now, isSuspended: isSuspended)
            return policy.mayRepeat(Self.ago(age), of: memory, at: Self.now)
        }
        #expect(may(.live, 0) == isPolicy)
        #expect(may(.live, 3599) == isPolicy)
        #expect(!may(.live, 3600))
        #expect(!may(.live, -1))
        #expect(!may(.refused, 0))
        #expect(!may(.ended, 0))
        #expect(!may(.live, 0, isSuspended: true))
        #expect(!policy.mayRepeat(Self.now, of: nil, at: Self.now))
    }

    @Test func `is opened a limited number of times a minute`() {
        var cap = PerMinuteLimiter(3)
        let minutes = [0, 0, 0, 0, 1, 1, 1, 1, -1, -1]
        let taken = minutes.map { cap.take(at: Self.now + .seconds(60 * $0)) }
        #expect(taken == [true, true, true, false, true, true, true, false, true, true])
        var none = PerMinuteLimiter(0)
        let isTaken = none.take(at: Self.now)
        #expect(!isTaken)
    }

    @Test func `is called what the configuration calls it`() {
        #expect(Self.policies.map(\.word) == ["closed", "last-known-good", "open"])
    }
}
