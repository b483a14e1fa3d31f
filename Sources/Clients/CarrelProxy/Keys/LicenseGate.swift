// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// Holds requests until their license arrives.
final class LicenseGate: Sendable {
    /// The waiting requests, whose number is bounded.
    private struct State {
        var waiting: [UInt64: (name: ContentKeyName, resume: @Sendable () -> Void)] = [:]
        var count: UInt64 = 0
        /// How often the gate was opened.
        var openings: UInt64 = 0
    }

    private let state = Locked(State())
    /// Measures the waits.
    let clock: MonotonicClock

    init(_ clock: MonotonicClock = .system) {
        self.clock = clock
    }

    /// Number of openings. A caller reads it before it requests a key, so that no opening is missed.
    var openings: UInt64 { state.withLock { $0.openings } }

    /// Requests that wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Releases waiting requests.
    ///
    /// - Parameter isOpen: whether requests for a key may continue.
    func open(_ isOpen: (ContentKeyName) -> Bool) {
        let resumed = state.withLock { state in
            state.openings &+= 1
            return state.waiting.values.filter { isOpen($0.name) }
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Waits until the gate opens for a key, the time limit passes or the task is cancelled.
    ///
    /// - Parameters:
    ///   - name: the key.
    ///   - seen: the openings before the key was requested; later openings end the wait.
    ///   - limit: the longest wait.
    func wait(for name: ContentKeyName, after seen: UInt64, _ limit: Duration) async {
        let (stream, signal) = AsyncStream<Void>.makeStream()
        let resume: @Sendable () -> Void = { signal.finish() }
        let id = state.withLock { state -> UInt64? in
            guard state.openings == seen else { return nil }
            state.count &+= 1
            state.waiting[state.count] = (name, resume)
            return state.count
        }
        guard let id else { return }
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
        let timer = Task { [clock] in
            try? await clock.sleep(for: limit)
            signal.finish()
        }
        for await _ in stream {}
        timer.cancel()
    }
}
