// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP
import CarrelStore
import CarrelThreads
import CarrelWebAPI
package import CarrelWorks

/// A cache of editions being downloaded, with their files open. Entries are valid for 1 s.
package final class OpenEditionCache: Sendable {
    /// Shared by requests: copying its many fields for each would be slow.
    package final class Opened: Sendable {
        package let edition: Edition
        package let file: OpenFile
        fileprivate let fileOpenedAt: Instant

        fileprivate init(edition: Edition, file: OpenFile, fileOpenedAt: Instant) {
            self.edition = edition
            self.file = file
            self.fileOpenedAt = fileOpenedAt
        }
    }

    private struct ResourceKey: Hashable, Sendable {
        let title: String
        /// Any change of the edition may be one of its resources.
        let version: Int64
        let path: String
    }

    private static let life = Duration.seconds(1)
    /// A file is opened again after this time: an intact copy may have replaced a damaged one.
    static let fileLife = Duration.seconds(60)
    /// Each has a file open.
    private static let editionLimit = 256
    private static let resourceLimit = 20_000

    private let database: any Database
    private let blobs: BlobIOPool
    private let editions = SnapshotCache<String, Opened>(limit: editionLimit, life: life)
    /// Fresh until an edition changes.
    private let resources = SnapshotCache<ResourceKey, EditionResource>(limit: resourceLimit, life: .seconds(Int64.max))

    init(database: any Database, blobs: BlobIOPool) {
        self.database = database
        self.blobs = blobs
    }

    /// The edition of a product, whatever its state; nil if there is none.
    package func edition(_ productID: String, at now: Instant) async throws -> Opened? {
        let found = editions.find(productID, at: now)
        if found.isFresh { return found.value }
        guard let edition = try await database.readBriefly({ try EditionStore.edition(product: productID, in: $0) }) else {
            return nil
        }
        let opened: Opened
        if let known = found.value, known.edition.mediaBlob == edition.mediaBlob, now - known.fileOpenedAt < Self.fileLife {
            opened = Opened(edition: edition, file: known.file, fileOpenedAt: known.fileOpenedAt)
        } else {
            let file = try await blobs.file(edition.mediaBlob)
            opened = Opened(edition: edition, file: file, fileOpenedAt: now)
        }
        editions.insert(opened, for: productID, readAt: now, since: found)
        return opened
    }

    /// The edition was changed after it was read: its current content is not the open one.
    package struct Changed: Error {
        package init() {}
    }

    /// A resource of an edition; nil if it has none at this path.
    ///
    /// - Throws: ``Changed`` if the edition has changed since: read it again.
    package func resource(_ path: String, of edition: Edition, at now: Instant) async throws -> EditionResource? {
        let key = ResourceKey(title: edition.title.id, version: edition.updatedAt.milliseconds, path: path)
        let known = resources.find(key, at: now)
        if let resource = known.value { return resource }
        let found = try await database.readBriefly { transaction -> (isSame: Bool, resource: EditionResource?) in
            let current = try EditionStore.edition(title: edition.title.id, in: transaction)
            guard current?.mediaBlob == edition.mediaBlob, current?.updatedAt == edition.updatedAt else { return (false, nil) }
            return (true, try EditionStore.resource(path, of: edition.title.id, in: transaction))
        }
        guard found.isSame else {
            forget(edition.productID)
            throw Changed()
        }
        guard let resource = found.resource else { return nil }
        resources.insert(resource, for: key, readAt: now, since: known)
        return resource
    }

    /// Evicts a product that changed.
    package func forget(_ productID: String) {
        editions.invalidate(productID)
        resources.invalidateAll()
    }
}
