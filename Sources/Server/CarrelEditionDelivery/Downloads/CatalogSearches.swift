// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
package import CarrelStore
import CarrelThreads
import CarrelWebAPI

/// Searches of the catalog, which share one queue: a network may have an eighth of it, so that no client fills it alone.
package final class CatalogSearches: Sendable {
    /// The limit of running and waiting searches of one network.
    static let networkLimit = max(1, SearchQueue.limit / 8)

    private let database: any Database
    private let networks = Locked<[ClientNetwork: Int]>([:])

    package init(database: any Database) {
        self.database = database
    }

    /// Runs a search for the client whose request is being answered.
    ///
    /// - Parameter body: the query over many rows.
    /// - Returns: what `body` returns.
    /// - Throws: `store.busy` if too many searches wait, or too many of this network; errors of `body`.
    package func run<T: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> T) async throws -> T {
        guard let network = ClientNetwork.current else { return try await database.search(body) }
        let hasRoom = networks.withLock { networks in
            guard networks[network, default: 0] < Self.networkLimit else { return false }
            networks[network, default: 0] += 1
            return true
        }
        guard hasRoom else { throw StoreError(.busy, "too many searches from one network are waiting") }
        defer {
            networks.withLock { networks in networks[network] = networks[network].flatMap { $0 > 1 ? $0 - 1 : nil } }
        }
        return try await database.search(body)
    }
}
