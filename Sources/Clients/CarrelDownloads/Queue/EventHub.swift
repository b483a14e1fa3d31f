// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Passes events to all streams that are open. A consumer that is thousands of events late loses the oldest.
final class EventHub: Sendable {
    private struct State {
        var next = 0
        var continuations: [Int: AsyncStream<DownloadEvent>.Continuation] = [:]
    }

    /// Events that wait for a consumer.
    private static let limit = 4096

    private let state = Locked(State())

    /// A new stream of all events from now on.
    func stream() -> AsyncStream<DownloadEvent> {
        let (events, continuation) = AsyncStream<DownloadEvent>.makeStream(bufferingPolicy: .bufferingNewest(Self.limit))
        let number = state.withLock { state in
            state.next += 1
            state.continuations[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [state] _ in state.withLock { _ = $0.continuations.removeValue(forKey: number) } }
        return events
    }

    func send(_ event: DownloadEvent) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(event) }
    }
}
