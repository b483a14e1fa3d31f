// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelThreads

/// A clock of a proxy that runs with real time, and jumps ahead when a test advances it.
final class SteppedClock: Sendable {
    private struct State {
        var lead = Duration.zero
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        var sleeps = 0
    }

    private let state = Locked(State())

    /// The clock as a proxy takes it.
    var monotonic: MonotonicClock {
        MonotonicClock {
            self.now
        } sleep: {
            try await self.sleep(for: $0)
        }
    }

    /// The time.
    var now: ContinuousClock.Instant { .now + state.withLock { $0.lead } }

    /// The number of waits that have begun.
    var sleeps: Int { state.withLock { $0.sleeps } }

    /// Moves the time ahead, and ends the waits that are over by then.
    func advance(by duration: Duration) {
        let waiting = state.withLock { state in
            state.lead += duration
            return state.waiting.values
        }
        for signal in waiting { signal.yield() }
    }

    private func sleep(for duration: Duration) async throws {
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let deadline = now + duration
        let number = state.withLock { state in
            state.sleeps += 1
            state.waiting[state.sleeps] = signal
            return state.sleeps
        }
        defer { state.withLock { state in state.waiting[number] = nil } }
        let timer = Task {
            try await Task.sleep(for: duration)
            signal.finish()
        }
        defer { timer.cancel() }
        for await _ in signals where deadline <= now { break }
        try Task.checkCancellation()
    }
}
