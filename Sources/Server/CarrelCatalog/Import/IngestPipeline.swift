// SPDX-License-Identifier: Apache-2.0

package import CarrelHome
package import CarrelIngest
package import CarrelStore
import CarrelThreads
import CarrelWorks

/// The part of taking a source in that needs no database: reading it, making its blobs, taking them back when something fails.
package final class IngestPipeline: Sendable {
    private let home: Home
    private let blobs: any BlobStore
    let scratch: Scratch
    /// One thread: an ingest uses the whole disk and a core.
    private let thread = BlockingThreadPool(name: "ingest", count: 1)
    /// A thread for covers and deletions, because an ingest may take hours.
    let disk = BlockingThreadPool(name: "blobs", count: 1)

    package init(home: Home, blobs: any BlobStore) {
        self.home = home
        self.blobs = blobs
        scratch = Scratch("\(home.directory)/scratch")
    }

    /// The outcome of one source.
    package struct Outcome<Entry: Sendable>: Sendable {
        package let entry: Entry
        package let change: CatalogChange
        package let warnings: [String]

        /// False when the source, or the product, was in the catalog already.
        package var created: Bool { change == .created }
    }

    /// Ingests one audio file, folder or archive. A source that is already in the catalog is recognized by its contents.
    package func take<Register: CatalogWriter>(
        _ path: String,
        _ options: IngestOptions,
        into register: Register,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> Outcome<Register.Entry> where Register.Made == IngestedTitle {
        let scratch = scratch
        return try await take(
            path,
            options.overrides.coverPath,
            into: register,
            warningsAgain: options.cutsOtherwise ? [Self.cutStays] : [],
            hash: { try Ingest.sourceHash(path, progress: progress) },
            prepare: {},
            make: { blobs, sourceHash, _ in
                let work = IngestWork(blobs: blobs, scratch: scratch, progress: progress)
                let made = try Ingest(work, options).run(path, sourceHash: sourceHash)
                return (made, made.warnings)
            }
        )
    }

    private static let cutStays = "the title is in the catalog already: its segments and its sample stay as they are"

    /// Ingests an edition: an EPUB or PDF file, a folder or an archive of pages.
    package func take<Register: EditionCatalogRegister>(
        _ path: String,
        _ options: EditionOptions,
        into register: Register,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> Outcome<Register.Entry> {
        let scratch = scratch
        return try await take(
            path,
            options.overrides.coverPath,
            into: register,
            warningsAgain: [],
            hash: { try EditionIngest.sourceHash(path, progress: progress) },
            prepare: { try await register.pageHistory() },
            make: { blobs, sourceHash, history in
                let work = IngestWork(blobs: blobs, scratch: scratch, progress: progress)
                let made = try EditionIngest(work, options, history: history).run(path, sourceHash: sourceHash)
                return (made, made.warnings)
            }
        )
    }

    private func take<Register: CatalogWriter, Preparation: Sendable>(
        _ path: String,
        _ coverPath: String?,
        into register: Register,
        warningsAgain: [String],
        hash: @escaping @Sendable () throws -> [UInt8],
        prepare: () async throws -> Preparation,
        make: @escaping @Sendable (any BlobStore, [UInt8], Preparation) throws -> (Register.Made, warnings: [String])
    ) async throws -> Outcome<Register.Entry> {
        try await takingBack(path, from: register) { trail in
            let sourceHash = try await thread.run { try hash() }
            var cover: (blob: BlobID, mediaType: String)?
            if let coverPath { cover = try await disk.run { try IngestWork.keepCover(coverPath, in: trail) } }
            if let known = try await register.again(sourceHash, cover: cover) {
                return Outcome(entry: known.entry, change: .none, warnings: warningsAgain + known.warnings)
            }
            let preparation = try await prepare()
            let (made, warnings) = try await thread.run { try make(trail, sourceHash, preparation) }
            let entered = try await register.enter(made)
            return Outcome(entry: entered.entry, change: entered.change, warnings: warnings + entered.warnings)
        }
    }

    /// Stores the cover and enters it. The previous cover is removed by the next ``BlobSweep``.
    func keepingCover<Register: CatalogWriter, Entered: Sendable>(
        _ path: String,
        in register: Register,
        _ enter: (_ cover: (blob: BlobID, mediaType: String)) async throws -> Entered
    ) async throws -> Entered {
        try await takingBack(path, from: register) { trail in
            try await enter(try await disk.run { try IngestWork.keepCover(path, in: trail) })
        }
    }

    /// Discards the blobs that `body` made if it fails.
    private func takingBack<Register: CatalogWriter, Entered: Sendable>(
        _ path: String,
        from register: Register,
        _ body: (TrackingBlobStore) async throws -> Entered
    ) async throws -> Entered {
        let trail = TrackingBlobStore(blobs)
        do {
            return try await body(trail)
        } catch {
            if !trail.made.isEmpty { await register.discard(trail.made) }
            throw Self.isFull(error) ? diskIsFull(path) : error
        }
    }

    private static func isFull(_ error: any Error) -> Bool {
        (error as? StoreError)?.code == .full || (error as? IngestError)?.code == .full
    }

    private func diskIsFull(_ path: String) -> IngestError {
        IngestError(
            .full,
            path,
            "cannot be taken: the disk of \(home.directory) is full",
            hint: "make room there and ingest it again; nothing of it was kept"
        )
    }
}
