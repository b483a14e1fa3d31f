// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Allows an action a limited number of times per minute.
package struct PerMinuteLimiter: Sendable {
    private let limit: Int
    private var minute: Int64?
    private var count = 0

    package init(_ limit: Int) {
        self.limit = limit
    }

    /// Whether another event is permitted; counts it if so.
    package mutating func take(at now: Instant) -> Bool {
        let current = now.milliseconds / 60_000
        if current != minute {
            minute = current
            count = 0
        }
        guard count < limit else { return false }
        count += 1
        return true
    }
}
