// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelThreads

/// Ends the responses of all sessions of a proxy at the time at which a key of theirs ends, whether their bytes move or not.
///
/// The clock of a key may jump, so that it is looked at four times a second while there are responses.
final class KeyWatch: Sendable {
    private struct Entry: Sendable {
        var use: KeyUse
        var clock: any WallClock
        var stop: @Sendable (ProxyError) -> Void
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var serial: UInt64 = 0
        var isRunning = false
    }

    private let state = Locked(State())
    private let timer: MonotonicClock

    /// - Parameter timer: waits between checks.
    init(_ timer: MonotonicClock = .system) {
        self.timer = timer
    }

    private static let interval = Duration.milliseconds(250)

    /// Watches over a response.
    ///
    /// - Parameters:
    ///   - use: the keys of the response, including keys that it requests later.
    ///   - clock: the clock by which keys expire.
    ///   - stop: ends the response; called once at most. Must not wait.
    /// - Returns: the number of the response.
    func add(_ use: KeyUse, _ clock: any WallClock, stop: @escaping @Sendable (ProxyError) -> Void) -> UInt64 {
        let (serial, isFirst) = state.withLock { state in
            state.serial &+= 1
            state.entries[state.serial] = Entry(use: use, clock: clock, stop: stop)
            defer { state.isRunning = true }
            return (state.serial, !state.isRunning)
        }
        if isFirst {
            // not part of the response that happens to be the first
            Task.detached { await self.run() }
        }
        return serial
    }

    /// Watches no more.
    ///
    /// - Returns: false if the response was ended.
    @discardableResult
    func remove(_ serial: UInt64) -> Bool { state.withLock { $0.entries.removeValue(forKey: serial) != nil } }

    /// Whether responses are watched over.
    var isRunning: Bool { state.withLock { $0.isRunning } }

    private func run() async {
        while true {
            var wait = Self.interval
            for (serial, entry) in state.withLock({ $0.entries }) {
                let now = entry.clock.now
                do throws(ProxyError) {
                    try entry.use.check(at: now)
                    if let end = entry.use.end { wait = min(wait, max(.milliseconds(1), end - now)) }
                } catch {
                    if remove(serial) { entry.stop(error) }
                }
            }
            let isOver = state.withLock { state in
                if state.entries.isEmpty { state.isRunning = false }
                return !state.isRunning
            }
            if isOver { return }
            try? await timer.sleep(for: wait)
        }
    }
}
