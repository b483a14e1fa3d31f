package import CarrelIngest
import CarrelPackager
import CarrelStore
import CarrelThreads

/// Takes sources into the catalog: the work of ``Ingest`` on a thread of its own, then the title.
package final class Ingesting: Sendable {
    let titles: Titles
    private let home: Home
    let scratch: Scratch
    /// One at a time: an ingest fills the disk's and a core's time anyway.
    let thread = BlockingThreads(name: "ingest", count: 1)

    package init(titles: Titles, home: Home) {
        self.titles = titles
        self.home = home
        scratch = Scratch("\(home.directory)/scratch")
    }

    /// What became of one source.
    package struct Outcome: Sendable {
        package let title: Title
        /// False when the source was in the catalog already.
        package let created: Bool
        package let warnings: [String]
    }

    /// Takes one file, folder or archive. A source that is in the catalog already is recognised by its contents; metadata given
    /// in the options are then written to its title.
    package func ingest(
        _ path: String,
        _ options: IngestOptions,
        by actor: Actor = .operator,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> Outcome {
        let (scratch, blobs) = (scratch, titles.blobs)
        let hash = try await thread.run {
            try Ingest(blobs: blobs, scratch: scratch, options: options, progress: progress).sourceHash(path)
        }
        if let known = try await titles.find(sourceHash: hash) {
            var metadata = known.metadata
            metadata.apply(options.overrides)
            var title = try await titles.update(metadata, of: known, by: actor)
            if let path = options.overrides.coverPath { title = try await replaceCover(of: title, with: path, by: actor) }
            return Outcome(title: title, created: false, warnings: options.cutsOtherwise ? [Self.cutStays] : [])
        }
        let trail = BlobTrail(blobs)
        do {
            let made = try await thread.run {
                try Ingest(blobs: trail, scratch: scratch, options: options, progress: progress).run(path, sourceHash: hash)
            }
            let (title, created) = try await titles.add(made, by: actor)
            return Outcome(title: title, created: created, warnings: made.warnings)
        } catch {
            await takeBack(trail.made)
            throw Self.isFull(error) ? diskIsFull(path) : error
        }
    }

    private static let cutStays = "the title is in the catalog already: its segments and its sample stay as they are"

    /// Gives a title the picture in a file as its cover.
    func replaceCover(of title: Title, with path: String, by actor: Actor) async throws -> Title {
        try await keepingCover(path) { try await titles.setCover($0, of: title, by: actor) }
    }

    /// Keeps the picture in a file and enters it. The one before it goes with the next ``BlobSweep``.
    func keepingCover<Entered: Sendable>(
        _ path: String,
        _ enter: (_ cover: (blob: BlobID, mediaType: String)) async throws -> Entered
    ) async throws -> Entered {
        let trail = BlobTrail(titles.blobs)
        do {
            return try await enter(try await thread.run { try Ingest.keepCover(path, in: trail) })
        } catch {
            await takeBack(trail.made)
            throw Self.isFull(error) ? diskIsFull(path) : error
        }
    }

    /// Removes what a failed ingest made, where no title uses it. Another ingest of the very same source may lose what it has not
    /// entered yet.
    func takeBack(_ made: Set<BlobID>) async {
        let blobs = titles.blobs
        for blob in made {
            guard let isUsed = try? await titles.database.read({ try TitleStore.uses(blob: blob.text, in: $0) }), !isUsed else {
                continue  // in doubt it stays
            }
            _ = try? await thread.run { try blobs.delete(blob) }
        }
    }

    static func isFull(_ error: any Error) -> Bool {
        (error as? StoreError)?.code == .full || (error as? IngestError)?.code == .full
    }

    func diskIsFull(_ path: String) -> IngestError {
        IngestError(
            .full,
            path,
            "cannot be taken: the disk of \(home.directory) is full",
            hint: "make room there and ingest it again; nothing of it was kept"
        )
    }
}
