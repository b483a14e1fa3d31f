// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelSubscription

/// Recent health of an upstream system.
package struct UpstreamHealth: Sendable, Equatable {
    /// The state of the circuit breaker.
    package enum State: Sendable, Equatable {
        case available
        /// Calls are suspended until this time after failures.
        case unavailable(until: Instant)
        /// One probe is running.
        case probing
    }

    package let state: State
    /// The policy while it is unreachable.
    package let policy: FailPolicy
    /// Questions that are on their way.
    package let inFlight: Int
    /// The last answer since the server started.
    package let answeredAt: Instant?
    /// The last question since the server started that got none, and why.
    package let failedAt: Instant?
    /// A lower-case sentence without a period; never what the system said.
    package let failure: String?

    package init(
        state: State,
        policy: FailPolicy,
        inFlight: Int,
        answeredAt: Instant?,
        failedAt: Instant?,
        failure: String?
    ) {
        self.state = state
        self.policy = policy
        self.inFlight = inFlight
        self.answeredAt = answeredAt
        self.failedAt = failedAt
        self.failure = failure
    }
}
