// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMetrics
internal import CarrelThreads

/// The memory limits of request bodies: in total, and for each network.
///
/// Bytes count when they are received and held, by the connection or by the handler, not when they are announced.
final class BodyBudget: Sendable {
    private struct State {
        var total = 0
        var networks: [ClientNetwork: Int] = [:]
    }

    /// Bytes of all bodies together.
    private let limit: Int
    /// Bytes of the bodies of one network.
    private let networkLimit: Int
    private let refusals: Counter
    private let state = Locked(State())

    init(limit: Int, refusals: Counter) {
        self.limit = limit
        networkLimit = max(1, limit / 8)
        self.refusals = refusals
    }

    /// Bytes that are held now.
    var byteCount: Int { state.withLock { $0.total } }

    /// Counts bytes that have come, unless they are more than there is room for.
    func take(_ count: Int, _ network: ClientNetwork?) -> Bool {
        let isTaken = state.withLock { state in
            guard state.total + count <= limit else { return false }
            if let network {
                let own = state.networks[network, default: 0] + count
                guard own <= networkLimit else { return false }
                state.networks[network] = own
            }
            state.total += count
            return true
        }
        if !isTaken { refusals.add(1) }
        return isTaken
    }

    /// Counts them no more.
    func giveBack(_ count: Int, _ network: ClientNetwork?) {
        guard count > 0 else { return }
        state.withLock { state in
            state.total -= count
            guard let network, let own = state.networks[network] else { return }
            state.networks[network] = own > count ? own - count : nil
        }
    }
}
