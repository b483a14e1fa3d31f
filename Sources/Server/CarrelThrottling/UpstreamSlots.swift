// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// The calls to an upstream system that run at the same time.
///
/// Tokens that the system has confirmed to us may take every slot. All others share half of them, an eighth for each network, so
/// that made-up tokens never occupy a slow system.
package struct UpstreamSlots: Sendable {
    /// A slot that was taken.
    package struct Slot: Sendable {
        fileprivate let isConfirmed: Bool
        fileprivate let network: ClientNetwork?
    }

    private let limit: Int
    private let unconfirmedLimit: Int
    private let networkLimit: Int
    /// Slots that are taken.
    package private(set) var inFlight = 0
    private var unconfirmed = 0
    private var networks: [ClientNetwork: Int] = [:]

    /// - Parameters:
    ///   - limit: the number of slots.
    ///   - unconfirmedLimit: the number that calls without a confirmed token may take together; nil for half of them.
    package init(_ limit: Int, unconfirmed unconfirmedLimit: Int? = nil) {
        self.limit = limit
        self.unconfirmedLimit = unconfirmedLimit ?? max(1, limit / 2)
        networkLimit = max(1, limit / 8)
    }

    /// Takes a slot.
    ///
    /// - Parameters:
    ///   - isConfirmed: whether the call uses a token that the system has confirmed, or is a sign-in attempt, which is counted.
    ///   - network: the client's network; nil if no limit per network applies.
    /// - Returns: nil if none is free.
    package mutating func take(isConfirmed: Bool, from network: ClientNetwork?) -> Slot? {
        guard inFlight < limit else { return nil }
        if !isConfirmed {
            let hasRoom = network.map { networks[$0, default: 0] < networkLimit } ?? true
            guard unconfirmed < unconfirmedLimit, hasRoom else { return nil }
            unconfirmed += 1
            if let network { networks[network, default: 0] += 1 }
        }
        inFlight += 1
        return Slot(isConfirmed: isConfirmed, network: network)
    }

    package mutating func giveBack(_ slot: Slot) {
        inFlight -= 1
        guard !slot.isConfirmed else { return }
        unconfirmed -= 1
        guard let network = slot.network else { return }
        networks[network] = networks[network].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}
