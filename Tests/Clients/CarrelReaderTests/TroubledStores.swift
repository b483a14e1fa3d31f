// SPDX-License-Identifier: Apache-2.0

import CarrelReader
import CarrelThreads
import Glibc

/// Keeps everything, for good.
struct StickyStore: SubscriptionStore {
    struct Refusal: Error {}

    func load() -> [UInt8]? { nil }
    func save(_ bytes: [UInt8]?) throws {
        if bytes == nil { throw Refusal() }
    }
}

/// Blocks the first write until it is released, or for two seconds.
final class SlowStore: SubscriptionStore {
    private struct State {
        var hasBegun = false
        var mayGoOn = false
        var isLate = false
    }

    private let state = Locked(State())

    /// Whether it was not released in time.
    var wasLate: Bool { state.withLock { $0.isLate } }

    func load() -> [UInt8]? { nil }

    func save(_ bytes: [UInt8]?) {
        state.withLock { $0.hasBegun = true }
        for _ in 0..<400 {
            if state.withLock({ $0.mayGoOn }) { return }
            usleep(5_000)
        }
        state.withLock { $0.isLate = true }
    }

    /// Waits until there is something to keep.
    func began() async throws {
        while !state.withLock({ $0.hasBegun }) { try await Task.sleep(for: .milliseconds(1)) }
    }

    func go() { state.withLock { $0.mayGoOn = true } }
}
