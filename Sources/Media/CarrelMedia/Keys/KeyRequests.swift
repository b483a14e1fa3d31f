// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The requests of one source: at most one per key at a time, and a bounded cache of the keys that came.
///
/// Refusals are not cached. The cache lives as long as the source, which belongs to one stream.
final class KeyRequests: Sendable {
    private struct State {
        var grants: LRUCache<ContentKeyName, ContentKeyGrant>
        var flights: [ContentKeyName: Task<ContentKeyAnswer, Never>] = [:]
    }

    private let state: Locked<State>

    /// - Parameter limit: keys in the cache, at most.
    init(limit: Int) {
        state = Locked(State(grants: LRUCache(limit: max(1, limit))))
    }

    /// The key for a name: from the cache, a pending request, or a new request.
    ///
    /// - Parameters:
    ///   - name: the key's.
    ///   - request: sends a request. It is not cancelled with its caller, since others may wait for it too.
    /// - Returns: the result of the request, or the cached key.
    func answer(
        _ name: ContentKeyName,
        _ request: @escaping @Sendable () async -> ContentKeyAnswer
    ) async -> ContentKeyAnswer {
        let (known, flight) = state.withLock { state -> (ContentKeyGrant?, Task<ContentKeyAnswer, Never>?) in
            if let grant = state.grants[name] { return (grant, nil) }
            if let flight = state.flights[name] { return (nil, flight) }
            let flight = Task {
                let answer = await request()
                self.state.withLock { state in
                    state.flights[name] = nil
                    if case .granted(let grant) = answer { state.grants.insert(grant, for: name, cost: 1) }
                }
                return answer
            }
            state.flights[name] = flight
            return (nil, flight)
        }
        if let known { return .granted(known) }
        return await flight?.value ?? .unknown
    }

    /// Adds a key that came in the response for another key.
    func add(_ grant: ContentKeyGrant, for name: ContentKeyName) {
        state.withLock { $0.grants.insert(grant, for: name, cost: 1) }
    }
}
