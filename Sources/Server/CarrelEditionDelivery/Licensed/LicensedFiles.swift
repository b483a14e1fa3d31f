// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelHome
import CarrelStore
import CarrelThreads
import CarrelWebAPI
import CarrelWorks

/// The protected files of editions: their keys, and their integrity tags, which are computed once for all servers.
///
/// The tags are computed on a thread of their own, one file after another, when the file is first requested. They are kept as a
/// blob, which the edition's row names. A process that ends in between leaves a blob without a name, which is swept, and the next
/// request computes the tags again.
final class LicensedFiles: Sendable {
    /// A file with its tags.
    struct Served: Sendable {
        let file: LicensedFile
        let tags: LicensedTags

        var length: Int64 { file.tagsOffset + tags.length }
    }

    private let database: any Database
    private let clock: any WallClock
    private let master: MasterKeyring.Shared
    private let editions: Editions
    private let keys: ContentKeys
    private let open: OpenEditionCache
    private let blobs: BlobIOPool
    private let thread: BlockingThreadPool
    /// Files with their tags, by the edition's product id.
    private let served = SnapshotCache<String, Served>(limit: 256, life: .seconds(1))
    /// Tags that are being computed, by the digest of their file: all requests for one wait for the same work.
    private let computing = Locked<[String: Task<OpenFile, any Error>]>([:])

    init(_ context: ServiceContext, _ catalog: CatalogCapability, _ keys: ContentKeys, thread: BlockingThreadPool) {
        (database, clock, master) = (context.database, context.clock, context.master)
        (editions, open, blobs) = (catalog.editions, catalog.openEditions, catalog.coldBlobs)
        self.keys = keys
        self.thread = thread
    }

    /// The protected file of an edition that is published so.
    ///
    /// - Parameter opened: the edition with its contents.
    /// - Returns: the file with its tags, which are computed now if they are missing.
    /// - Throws: ``RuleError`` `edition.preparing` if too many other files are being prepared; ``OpenEditionCache/Changed``; errors
    ///   of the database and the blob store.
    func file(of opened: OpenEditionCache.Opened) async throws -> Served {
        let (edition, now) = (opened.edition, clock.now)
        let found = served.find(edition.productID, at: now)
        if found.isFresh, let known = found.value, Self.isSame(known.file.edition, edition) { return known }
        let file = try await file(edition, opened.file, at: now)
        let tags: OpenFile
        if let known = found.value, known.file.digest == file.digest {
            tags = known.tags.file
        } else {
            tags = try await self.tags(of: file)
        }
        let made = Served(file: file, tags: LicensedTags(head: PayloadTags.boxHead(of: edition.byteCount), file: tags))
        guard made.length == file.tagsOffset + PayloadTags.boxLength(of: edition.byteCount) else {
            throw StoreError(.damaged, "the tags of \(edition.productID) have another length than their file says")
        }
        served.insert(made, for: edition.productID, readAt: now, since: found)
        return made
    }

    private static func isSame(_ a: Edition, _ b: Edition) -> Bool {
        a.mediaBlob == b.mediaBlob && a.updatedAt == b.updatedAt && a.protection.keyNumber == b.protection.keyNumber
    }

    /// The file without its tags, under the key of the edition's contents.
    private func file(_ edition: Edition, _ media: OpenFile, at now: Instant) async throws -> LicensedFile {
        let (title, protection) = (edition.title.id, edition.protection)
        let wrapped = try await database.readBriefly { [keys] transaction -> MasterKeyring.Wrapped? in
            guard protection.keyNumber > 0, protection.keyBlob == edition.mediaBlob else { return nil }
            return try keys.titleKey(title, protection.keyNumber, in: transaction)
        }
        guard let wrapped else {
            // removed or revoked by staff: the contents get another key
            let actor = AuditActor(AuditActor.server)
            _ = try await database.write { [editions] in try editions.requireKey(ofTitle: title, by: actor, at: now, in: $0) }
            open.forget(edition.productID)
            throw OpenEditionCache.Changed()
        }
        return try LicensedFile(
            edition,
            media: media,
            id: TitleContent.keyID(ofTitle: title, number: protection.keyNumber),
            key: try master.unwrap(wrapped)
        )
    }

    // MARK: Tags

    private func tags(of file: LicensedFile) async throws -> OpenFile {
        if let known = file.edition.protection.tags, known.file == file.digest, let blob = BlobID(known.blob),
            let open = try await tags(in: blob)
        {
            return open
        }
        let digest = file.digest
        let task = computing.withLock { computing in
            if let known = computing[digest] { return known }
            let task = Task {
                defer { self.computing.withLock { $0[digest] = nil } }
                return try await self.compute(file)
            }
            computing[digest] = task
            return task
        }
        return try await task.value
    }

    /// The file of a blob of tags; nil if a restored database names one that is no longer there.
    private func tags(in blob: BlobID) async throws -> OpenFile? {
        try await blobs.run { store in
            do {
                let open = try store.open(blob)
                return try withExtendedLifetime(open) { try OpenFile(duplicating: open.descriptor) }
            } catch let error as StoreError where error.code == .notFound {
                return nil
            }
        }
    }

    private func computeTags(_ file: LicensedFile) async throws -> [UInt8] {
        do {
            return try await thread.run { try file.tags() }
        } catch is QueueFull {
            throw RuleError(
                .unavailable,
                "edition.preparing",
                "the protected files of other editions are being prepared: retry in 5 s",
                retryAfter: 5
            )
        }
    }

    private func compute(_ file: LicensedFile) async throws -> OpenFile {
        let tags = try await computeTags(file)
        let blob = try await blobs.run { store in
            let writer = try store.writer()
            let bytes = tags
            try writer.append(bytes.rawSpan)
            return try writer.finish()
        }
        let digest = file.digest
        _ = try await database.write { try EditionStore.setTags((blob, digest), of: file.edition, in: $0) }
        open.forget(file.edition.productID)
        guard let made = try await self.tags(in: blob) else { throw StoreError(.notFound, "the tags were removed") }
        return made
    }
}
