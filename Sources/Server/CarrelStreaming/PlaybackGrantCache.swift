// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelOrders
import CarrelStore
import CarrelThreads

/// A cache of the order data that streaming requests need. Entries live 1 s.
///
/// A change by this process is evicted immediately; one by another process on the same database is seen within
/// a second.
package final class PlaybackGrantCache: Sendable {
    package struct Grant: Sendable {
        var order: Order
        /// Whether the operator has closed the order's account for the time being.
        let isSuspended: Bool
        let key: Secret
        package let media: StreamMedia
    }

    /// The time for which a cached order is valid.
    static let life = Duration.seconds(1)
    /// Maximum number of cached orders.
    private static let orderLimit = 20_000

    private let orders: Orders
    private let grants = SnapshotCache<String, Grant>(limit: orderLimit, life: life)
    private let media: StreamMediaCache

    init(orders: Orders, database: any Database, blobs: BlobIOPool) {
        self.orders = orders
        media = StreamMediaCache(database: database, blobs: blobs)
        orders.onChange { [weak self] in self?.grants.invalidate($0) }
    }

    /// The order and the data for streaming it; nil if there is no such order.
    package func grant(_ id: String, at now: Instant) async throws -> Grant? {
        let known = grants.find(id, at: now)
        if known.isFresh { return known.value }
        guard let (order, isSuspended, key) = try await orders.grant(id) else { return nil }
        let media = try await media.media(of: order.titleID, at: now)
        let grant = Grant(order: order, isSuspended: isSuspended, key: key, media: media)
        grants.insert(grant, for: id, readAt: now, since: known)
        return grant
    }
}
