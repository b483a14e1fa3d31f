import CarrelIngest
import CarrelStore
import CarrelThreads

/// Enters audiobooks into the database of this process.
struct TitleRegister: CatalogRegister {
    let titles: Titles
    /// What is said of the title in place of what its source says.
    let overrides: IngestOptions.Overrides
    let actor: Actor
    /// Where blobs are removed.
    let thread: BlockingThreads

    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Title? {
        guard let known = try await titles.find(sourceHash: sourceHash) else { return nil }
        var metadata = known.metadata
        metadata.apply(overrides)
        let title = try await titles.update(metadata, of: known, by: actor)
        guard let cover else { return title }
        return try await titles.setCover(cover, of: title, by: actor)
    }

    func enter(_ made: IngestedTitle) async throws -> (entry: Title, created: Bool) {
        let (title, created) = try await titles.add(made, by: actor)
        return (title, created)
    }

    func takeBack(_ blobs: Set<BlobID>) async {
        await titles.takeBack(blobs, on: thread)
    }
}

extension Titles {
    /// Removes blobs that no title uses. Another ingest of the very same content may lose what it has not entered yet.
    func takeBack(_ made: Set<BlobID>, on thread: BlockingThreads) async {
        let blobs = blobs
        for blob in made {
            guard let isUsed = try? await database.read({ try TitleStore.uses(blob: blob.text, in: $0) }), !isUsed else {
                continue  // in doubt it stays
            }
            _ = try? await thread.run { try blobs.delete(blob) }
        }
    }
}
