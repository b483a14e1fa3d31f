// SPDX-License-Identifier: Apache-2.0

/// The clock by which a proxy waits: the system's, or one that a test advances.
package struct MonotonicClock: Sendable {
    private let read: @Sendable () -> ContinuousClock.Instant
    private let wait: @Sendable (Duration) async throws -> Void

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - sleep: returns after a duration of this clock, or throws `CancellationError`.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        read = now
        wait = sleep
    }

    /// The clock of the system.
    package static let system = MonotonicClock {
        .now
    } sleep: {
        try await Task.sleep(for: $0)
    }

    /// The time.
    package var now: ContinuousClock.Instant { read() }

    /// Waits.
    ///
    /// - Throws: `CancellationError`.
    package func sleep(for duration: Duration) async throws { try await wait(duration) }
}
