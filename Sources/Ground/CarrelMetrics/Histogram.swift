// SPDX-License-Identifier: Apache-2.0

/// A histogram of observations with fixed bounds in seconds.
package final class Histogram: Sendable {
    /// Bounds for responses from a tenth of a millisecond to ten seconds.
    package static let latencyBounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
    ]

    /// Upper bounds in seconds, rising; one more bucket holds the rest.
    package let bounds: [Double]
    private let nanosecondBounds: [Int64]
    private let buckets: [Counter]
    private let nanoseconds = Counter()

    init(bounds: [Double]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds must rise")
        self.bounds = bounds
        nanosecondBounds = bounds.map { Int64($0 * 1e9) }
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    /// Counts one observation, in nanoseconds.
    package func observe(nanoseconds: Int64) {
        var i = 0
        while i < nanosecondBounds.count, nanoseconds > nanosecondBounds[i] { i += 1 }
        buckets[i].add(1)
        self.nanoseconds.add(UInt64(max(0, nanoseconds)))
    }

    /// Counts one observation.
    package func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        observe(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// The numbers of observations at most each bound, followed by their total; and their sum in seconds.
    package var snapshot: (cumulative: [UInt64], sum: Double) {
        var total: UInt64 = 0
        let cumulative = buckets.map { bucket in
            total += bucket.value
            return total
        }
        return (cumulative, Double(nanoseconds.value) / 1e9)
    }
}
