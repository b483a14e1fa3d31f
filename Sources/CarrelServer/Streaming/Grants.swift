import CarrelBytes
import CarrelCrypto
import CarrelPackager
import CarrelStore
import CarrelThreads

/// The media of a title, ready to be cut into segments.
final class StreamMedia: SegmentInput {
    let titleID: String
    let index: SegmentIndex
    let blob: OpenBlob

    init(titleID: String, index: SegmentIndex, blob: OpenBlob) {
        self.titleID = titleID
        self.index = index
        self.blob = blob
    }

    func read(at offset: Int64, into out: inout OutputRawSpan) throws {
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

/// What a streaming request needs of its order, remembered for a second.
///
/// A change that this process makes is forgotten at once; one that another process makes on the same database is seen within
/// a second.
package final class Grants: Sendable {
    struct Grant: Sendable {
        var order: Order
        /// Whether the operator has closed the order's account for the time being.
        let isSuspended: Bool
        let key: Secret
        let media: StreamMedia
        fileprivate var readAt: Instant
    }

    /// How long an order is believed without asking the database.
    static let life = Duration.seconds(1)
    /// Orders remembered.
    private static let orderLimit = 20_000
    /// Bytes of segment indexes remembered.
    private static let mediaLimit = 64 << 20
    /// Titles whose files are kept open.
    private static let openMedia = 256

    private struct State {
        var grants = RecentlyUsed<String, Grant>(limit: Grants.orderLimit)
        var media = RecentlyUsed<String, StreamMedia>(limit: Grants.mediaLimit)
        /// Counts the changes, so that what was read before a change is not remembered after it.
        var changes: UInt64 = 0
    }

    private let orders: Orders
    private let database: any Database
    private let blobs: ColdBlobs
    private let state = Locked(State())

    init(orders: Orders, database: any Database, blobs: ColdBlobs) {
        self.orders = orders
        self.database = database
        self.blobs = blobs
        orders.onChange { [weak self] in self?.forget($0) }
    }

    /// The order and what is needed to stream it; nil when there is no such order.
    func grant(_ id: String, at now: Instant) async throws -> Grant? {
        let (known, changes) = state.withLock { ($0.grants[id], $0.changes) }
        if let known, now >= known.readAt, now - known.readAt < Self.life { return known }
        guard let (order, isSuspended, key) = try await orders.grant(id) else { return nil }
        let media = if let known { known.media } else { try await media(of: order.titleID) }
        let grant = Grant(order: order, isSuspended: isSuspended, key: key, media: media, readAt: now)
        state.withLock { if $0.changes == changes { $0.grants.insert(grant, for: id, cost: 1) } }
        return grant
    }

    private func media(of titleID: String) async throws -> StreamMedia {
        if let known = state.withLock({ $0.media[titleID] }) { return known }
        guard let found = try await database.read({ try TitleStore.media(id: titleID, in: $0) }) else {
            throw ServerError(.home, "the title of an order is missing")
        }
        let media = try await blobs.run { blobs in
            StreamMedia(
                titleID: titleID,
                index: try SegmentIndex(serialized: found.index.rawSpan),
                blob: try blobs.open(try BlobID(stored: found.blob))
            )
        }
        state.withLock {
            $0.media.insert(media, for: titleID, cost: max(Self.mediaLimit / Self.openMedia, 4096 + media.index.segmentCount * 8))
        }
        return media
    }

    private func forget(_ id: String) {
        state.withLock {
            $0.changes += 1
            $0.grants.remove(id)
        }
    }
}
