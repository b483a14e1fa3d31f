// SPDX-License-Identifier: Apache-2.0

/// Exponential pauses with full jitter: many transfers that fail together are not repeated together.
struct Backoff: Sendable {
    private let pace: TransferPace
    private var failures = 0

    init(_ pace: TransferPace) {
        self.pace = pace
    }

    /// The pause after a further failure; nil if there were too many.
    ///
    /// - Parameter least: what the server demanded.
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
