// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHome
import CarrelPackager
import CarrelStore
import CarrelThreads

/// A cache of the media of titles, whose files stay open.
final class StreamMediaCache: Sendable {
    /// A file is opened again after this time: a sound copy may have taken the place of a damaged one.
    static let life = Duration.seconds(60)
    /// Maximum size of cached segment indexes, in bytes.
    private static let limit = 64 << 20
    /// Titles whose files are kept open.
    private static let openMedia = 256

    private let database: any Database
    private let blobs: BlobIOPool
    private let media = Locked(LRUCache<String, StreamMedia>(limit: limit))

    init(database: any Database, blobs: BlobIOPool) {
        self.database = database
        self.blobs = blobs
    }

    /// The media of a title.
    ///
    /// - Throws: ``ServerError`` `server.home` without such a title; ``StoreError`` if its file is missing or damaged.
    func media(of titleID: String, at now: Instant) async throws -> StreamMedia {
        if let known = media.withLock({ $0[titleID] }) {
            if now - known.openedAt < Self.life { return known }
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
        let cost = max(Self.limit / Self.openMedia, 4096 + media.index.segmentCount * 8)
        self.media.withLock { $0.insert(media, for: media.titleID, cost: cost) }
        return media
    }
}
