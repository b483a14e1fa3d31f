// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelThreads

/// A token bucket per network, in the memory of this process: a burst, refilled over one minute.
package final class TokenBucketLimiter: Sendable {
    private struct Level: Sendable {
        var left: Double
        var at: Instant
    }

    private let perMinute: Double
    private let levels = Locked(LRUCache<String, Level>(limit: 16_384))

    /// - Parameter perMinute: the number of requests allowed per minute.
    package init(perMinute: Int) {
        self.perMinute = Double(perMinute)
    }

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - network: the client's network.
    ///   - now: the time.
    /// - Returns: the time until the next request is allowed; nil if this one is.
    package func take(_ network: String, at now: Instant) -> Duration? {
        levels.withLock { levels in
            var level = levels[network] ?? Level(left: perMinute, at: now)
            // A clock that was set back gives nothing, and takes nothing.
            let minutes = max(.zero, now - level.at) / .seconds(60)
            level.left = min(perMinute, level.left + minutes * perMinute)
            level.at = now
            defer { levels.insert(level, for: network, cost: 1) }
            guard level.left >= 1 else { return .seconds(60) * ((1 - level.left) / perMinute) }
            level.left -= 1
            return nil
        }
    }

    /// Resets the bucket of a network.
    func clear(_ network: String) {
        levels.withLock { $0.remove(network) }
    }

    func clear() {
        levels.withLock { $0.removeAll() }
    }
}
