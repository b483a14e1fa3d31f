package import CarrelBytes
package import CarrelHTTP
package import CarrelIngest
import CarrelStore
import CarrelThreads
import CarrelWebAPI

/// Editions that are being downloaded, with their files open. What is known of one is believed for a second.
package final class OpenEditionCache: Sendable {
    /// Shared by requests: a copy of so many fields for each would cost.
    package final class Opened: Sendable {
        package let edition: Edition
        package let file: OpenFile
        fileprivate let readAt: Instant
        fileprivate let fileOpenedAt: Instant

        fileprivate init(edition: Edition, file: OpenFile, readAt: Instant, fileOpenedAt: Instant) {
            self.edition = edition
            self.file = file
            self.readAt = readAt
            self.fileOpenedAt = fileOpenedAt
        }
    }

    private struct ResourceKey: Hashable, Sendable {
        let title: String
        /// Any change of the edition may be one of its resources.
        let version: Int64
        let path: String
    }

    private struct State {
        var editions = LRUCache<String, Opened>(limit: OpenEditionCache.editionLimit)
        var resources = LRUCache<ResourceKey, EditionResource>(limit: OpenEditionCache.resourceLimit)
        /// Counts the changes, so that what was read before a change is not remembered after it.
        var changes: UInt64 = 0
    }

    private static let life = Duration.seconds(1)
    /// A file is opened again after this time: a sound copy may have taken the place of a damaged one.
    static let fileLife = Duration.seconds(60)
    /// Each has a file open.
    private static let editionLimit = 256
    private static let resourceLimit = 20_000

    private let database: any Database
    private let blobs: BlobIOPool
    private let state = Locked(State())

    init(database: any Database, blobs: BlobIOPool) {
        self.database = database
        self.blobs = blobs
    }

    /// The edition of a product, whatever its state; nil when there is none.
    package func edition(_ productID: String, at now: Instant) async throws -> Opened? {
        let (known, changes) = state.withLock { ($0.editions[productID], $0.changes) }
        if let known, now >= known.readAt, now - known.readAt < Self.life { return known }
        guard let edition = try await database.readBriefly({ try EditionStore.edition(product: productID, in: $0) }) else {
            return nil
        }
        let opened: Opened
        if let known, known.edition.mediaBlob == edition.mediaBlob, now - known.fileOpenedAt < Self.fileLife {
            opened = Opened(edition: edition, file: known.file, readAt: now, fileOpenedAt: known.fileOpenedAt)
        } else {
            let file = try await blobs.file(edition.mediaBlob)
            opened = Opened(edition: edition, file: file, readAt: now, fileOpenedAt: now)
        }
        state.withLock { if $0.changes == changes { $0.editions.insert(opened, for: productID, cost: 1) } }
        return opened
    }

    /// An edition was changed after it was read here: what it holds now is not what is open.
    package struct Changed: Error {}

    /// A resource of an edition; nil when it has none at this path.
    ///
    /// - Throws: ``Changed`` when the edition is no longer as given, and is to be asked for again.
    package func resource(_ path: String, of edition: Edition) async throws -> EditionResource? {
        let key = ResourceKey(title: edition.title.id, version: edition.updatedAt.milliseconds, path: path)
        let (known, changes) = state.withLock { ($0.resources[key], $0.changes) }
        if let known { return known }
        let found = try await database.readBriefly { transaction -> (isSame: Bool, resource: EditionResource?) in
            let now = try EditionStore.edition(title: edition.title.id, in: transaction)
            guard now?.mediaBlob == edition.mediaBlob, now?.updatedAt == edition.updatedAt else { return (false, nil) }
            return (true, try EditionStore.resource(path, of: edition.title.id, in: transaction))
        }
        guard found.isSame else {
            forget(edition.productID)
            throw Changed()
        }
        guard let resource = found.resource else { return nil }
        state.withLock { if $0.changes == changes { $0.resources.insert(resource, for: key, cost: 1) } }
        return resource
    }

    /// Forgets a product that changed.
    package func forget(_ productID: String) {
        state.withLock {
            $0.changes += 1
            $0.editions.remove(productID)
            $0.resources = LRUCache(limit: Self.resourceLimit)
        }
    }
}
