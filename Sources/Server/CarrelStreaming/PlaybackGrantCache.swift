// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHome
import CarrelOrders
package import CarrelPackager
import CarrelStore
import CarrelThreads

/// The media of a title, ready to be cut into segments.
package final class StreamMedia: SegmentInput {
    let titleID: String
    package let index: SegmentIndex
    let blob: OpenBlob
    private let id: BlobID
    fileprivate let openedAt: Instant

    /// Opens the media of a title.
    ///
    /// - Throws: `store.damaged` if the file is shorter than the index says: no playlist may name what is not there.
    init(
        titleID: String,
        index: SegmentIndex,
        _ id: BlobID,
        in blobs: any BlobStore,
        at now: Instant
    ) throws(StoreError) {
        self.titleID = titleID
        self.index = index
        self.id = id
        blob = try blobs.open(id)
        openedAt = now
        guard blob.byteCount >= index.byteCount else {
            throw StoreError(.damaged, "the blob \(id) of the title \(titleID) ends before byte \(index.byteCount)")
        }
    }

    /// The same media, opened again.
    fileprivate func again(in blobs: any BlobStore, at now: Instant) throws(StoreError) -> StreamMedia {
        try StreamMedia(titleID: titleID, index: index, id, in: blobs, at: now)
    }

    package func read(at offset: Int64, into out: inout OutputRawSpan) throws {
        try blob.read(at: offset, into: &out)
    }

    /// Whether the range is in memory, as far as its last byte tells: reading it will not wait for a disk.
    func isWarm(_ range: Range<Int64>) -> Bool {
        var isThere = false
        _ = [UInt8](rawCapacity: 1) { isThere = blob.readNow(at: range.upperBound - 1, into: &$0) }
        return isThere
    }

    /// Brings the range into memory. Blocks.
    func warm(_ range: Range<Int64>) throws {
        var at = range.lowerBound
        while at < range.upperBound {
            let count = Int(min(1 << 20, range.upperBound - at))
            _ = try blob.bytes(at: at, count: count)
            at += Int64(count)
        }
    }
}

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

    /// How long a cached order is valid.
    static let life = Duration.seconds(1)
    /// A file is opened again after this time: a sound copy may have taken the place of a damaged one.
    static let mediaLife = Duration.seconds(60)
    /// Maximum number of cached orders.
    private static let orderLimit = 20_000
    /// Maximum size of cached segment indexes, in bytes.
    private static let mediaLimit = 64 << 20
    /// Titles whose files are kept open.
    private static let openMedia = 256

    private let orders: Orders
    private let database: any Database
    private let blobs: BlobIOPool
    private let grants = SnapshotCache<String, Grant>(limit: orderLimit, life: life)
    private let media = Locked(LRUCache<String, StreamMedia>(limit: mediaLimit))

    init(orders: Orders, database: any Database, blobs: BlobIOPool) {
        self.orders = orders
        self.database = database
        self.blobs = blobs
        orders.onChange { [weak self] in self?.grants.invalidate($0) }
    }

    /// The order and what is needed to stream it; nil if there is no such order.
    package func grant(_ id: String, at now: Instant) async throws -> Grant? {
        let known = grants.find(id, at: now)
        if known.isFresh { return known.value }
        guard let (order, isSuspended, key) = try await orders.grant(id) else { return nil }
        let media = try await media(of: order.titleID, at: now)
        let grant = Grant(order: order, isSuspended: isSuspended, key: key, media: media)
        grants.insert(grant, for: id, readAt: now, since: known)
        return grant
    }

    private func media(of titleID: String, at now: Instant) async throws -> StreamMedia {
        if let known = media.withLock({ $0[titleID] }) {
            if now - known.openedAt < Self.mediaLife { return known }
            return keep(try await blobs.run { try known.again(in: $0, at: now) })
        }
        guard let found = try await database.read({ try TitleStore.media(id: titleID, in: $0) }) else {
            throw ServerError(.home, "the title of an order is missing")
        }
        let media = try await blobs.run { blobs in
            let index = try SegmentIndex(serialized: found.index.rawSpan)
            return try StreamMedia(titleID: titleID, index: index, try BlobID(stored: found.blob), in: blobs, at: now)
        }
        return keep(media)
    }

    private func keep(_ media: StreamMedia) -> StreamMedia {
        let cost = max(Self.mediaLimit / Self.openMedia, 4096 + media.index.segmentCount * 8)
        self.media.withLock { $0.insert(media, for: media.titleID, cost: cost) }
        return media
    }
}
