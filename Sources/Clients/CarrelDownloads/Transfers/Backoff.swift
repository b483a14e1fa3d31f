// SPDX-License-Identifier: Apache-2.0

/// Exponential pauses with full jitter: many transfers that fail together are not repeated together.
struct Backoff: Sendable {
    private let pace: TransferPace
    private var failures = 0

    init(_ pace: TransferPace) {
        self.pace = pace
    }

    /// Counts a failure.
    ///
    /// - Parameter least: the pause that the server demanded; nil for none.
    /// - Returns: the pause before the next attempt; nil if there were too many.
    mutating func next(atLeast least: Duration?) -> Duration? {
        failures += 1
        guard failures < pace.attempts else { return nil }
        let limit = min(pace.longestPause, pace.firstPause * (1 << min(failures - 1, 16)))
        let pause = limit * Double.random(in: 0.5...1)
        return max(pause, min(least ?? .zero, .seconds(300)))
    }

    /// Starts again after a success.
    mutating func reset() { failures = 0 }
}
