// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
import CarrelThreads

/// The bound of players that are linked to no account and never got a license. Anyone may become such a player; beyond the bound,
/// the oldest guest of the larger network with the most guests is removed.
///
/// The guests are counted outside the transactions that add them, and at most once a second: nodes may exceed the bound by the
/// guests added in that time.
final class Guests: Sendable {
    /// The number of guests, in all and of the largest networks.
    private struct Census: Sendable {
        var total: Int
        var sites: [String: Int]
        let readAt: Instant
    }

    private struct State {
        var census: Census?
        /// Whether a request counts now: others take the last count.
        var isCounting = false
    }

    /// The guests that one personalization adds and removes, to be counted when its transaction is committed.
    struct Change: Sendable {
        let added: String
        /// The larger network whose oldest guest gives way; nil if there is room.
        let crowded: String?
        /// Whether a guest was removed.
        let isRemoved: Bool
    }

    private let limit: Int
    private let database: any Database
    private let state = Locked(State())

    /// Lifetime of a count, and while there are as many as the bound.
    private static let life = Duration.seconds(60)
    private static let lifeWhenFull = Duration.seconds(1)
    /// Larger networks that are counted.
    private static let siteLimit = 1024

    init(limit: Int, database: any Database) {
        self.limit = limit
        self.database = database
    }

    /// Whether guests are refused.
    var areRefused: Bool { limit <= 0 }

    /// Counts the guests, unless they were counted a short while ago.
    func count(at now: Instant) async throws {
        let limit = limit
        let isDue = state.withLock { state in
            if state.isCounting { return false }
            if let census = state.census {
                let age = now - census.readAt
                if age >= .zero, age < (census.total >= limit ? Self.lifeWhenFull : Self.life) { return false }
            }
            state.isCounting = true
            return true
        }
        guard isDue else { return }
        defer { state.withLock { $0.isCounting = false } }
        let read = try await database.read { transaction in
            let total = try GuestStore.count(at: now, in: transaction)
            let isFull = total >= limit
            let sites = isFull ? try GuestStore.sites(limit: Self.siteLimit, at: now, in: transaction) : []
            return Census(total: total, sites: Dictionary(sites.map { ($0.site, $0.count) }) { $1 }, readAt: now)
        }
        state.withLock { $0.census = read }
    }

    /// Adds a guest; if there are too many, another guest is deleted with its certificates.
    func add(_ player: Player, from site: String, at now: Instant, in transaction: any Transaction) throws -> Change {
        let crowded = state.withLock { state -> String? in
            guard let census = state.census, census.total >= limit else { return nil }
            return census.sites.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        }
        let isRemoved = try crowded.map { try Self.removeOldest(of: $0, at: now, in: transaction) } ?? false
        try GuestStore.insert(player, from: site, in: transaction)
        return Change(added: site, crowded: crowded, isRemoved: isRemoved)
    }

    /// Deletes the oldest guest of a larger network, with its certificates and codes; whether there was one.
    private static func removeOldest(of site: String, at now: Instant, in transaction: any Transaction) throws -> Bool {
        guard let id = try GuestStore.oldest(of: site, at: now, in: transaction) else { return false }
        try LinkCodeStore.removeAll(of: id, in: transaction)
        try PlayerStore.remove(id, in: transaction)
        return true
    }

    /// Counts what a transaction changed that was committed.
    func note(_ change: Change) {
        state.withLock { state in
            guard var known = state.census else { return }
            known.total += change.isRemoved ? 0 : 1
            known.sites[change.added, default: 0] += 1
            if let crowded = change.crowded, change.isRemoved { known.sites[crowded, default: 1] -= 1 }
            // the count is no longer right, or it has reached the bound: the next personalization counts again
            let isStale = change.crowded != nil && !change.isRemoved || change.crowded == nil && known.total >= limit
            state.census = isStale ? nil : known
        }
    }
}
