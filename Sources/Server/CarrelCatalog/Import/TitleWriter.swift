// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelHome
import CarrelIngest
import CarrelStore
import CarrelThreads
import CarrelWorks

/// A writer of audiobooks into the database of this process.
struct TitleWriter: CatalogWriter {
    let titles: Titles
    /// Metadata that overrides the source's metadata.
    let overrides: MetadataOverrides
    /// Whether an ISBN that another title has is an error.
    let isStrict: Bool
    let actor: AuditActor
    /// The pool that deletes blobs.
    let thread: BlockingThreadPool

    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Entered<Title>? {
        guard let known = try await titles.find(sourceHash: sourceHash) else { return nil }
        var metadata = known.metadata
        metadata.apply(overrides)
        let warnings = try await titles.warnings(ofISBN: metadata.isbn, but: known.id, isStrict: isStrict)
        let title = try await titles.update(metadata, of: known, by: actor)
        guard let cover else { return Entered(title, .none, warnings: warnings) }
        return Entered(try await titles.setCover(cover, of: title, by: actor), .none, warnings: warnings)
    }

    func enter(_ made: IngestedTitle) async throws -> Entered<Title> {
        let (title, created, twins) = try await titles.add(made, isStrict: isStrict, by: actor)
        return Entered(title, created ? .created : .none, warnings: Titles.warnings(ofISBN: made.metadata.isbn, twins))
    }

    func discard(_ blobs: Set<BlobID>) async {
        await titles.discard(blobs, on: thread)
    }
}

extension Titles {
    /// Refuses an ISBN that other titles have, or warns of it.
    ///
    /// - Parameters:
    ///   - isbn: the title's ISBN; nil if it has none.
    ///   - id: the title itself.
    ///   - isStrict: whether it is refused.
    /// - Returns: warnings for the operator.
    /// - Throws: ``ServerError`` `conflict`.
    func warnings(ofISBN isbn: ISBN?, but id: String, isStrict: Bool) async throws -> [String] {
        guard let isbn else { return [] }
        let twins = try await database.read { try TitleStore.ids(isbn: isbn, in: $0) }.filter { $0 != id }
        if isStrict { try Self.refuse(isbn, twins) }
        return Self.warnings(ofISBN: isbn, twins)
    }

    /// The warning about other titles that have an ISBN.
    static func warnings(ofISBN isbn: ISBN?, _ twins: [String]) -> [String] {
        guard let isbn, let twin = twins.first else { return [] }
        return [
            "title \(twin) has ISBN \(isbn) too: order by title id; the sample served is that of the newest title (--strict refuses such a title)"
        ]
    }

    /// Refuses an ISBN that other titles have.
    static func refuse(_ isbn: ISBN, _ twins: [String]) throws(ServerError) {
        guard let twin = twins.first else { return }
        throw ServerError(
            .conflict,
            "title \(twin) already has ISBN \(isbn): give this title another one, or omit --strict"
        )
    }

    /// Removes blobs that no title uses. A concurrent ingest of the same content may lose blobs that it has not entered yet.
    func discard(_ made: Set<BlobID>, on thread: BlockingThreadPool) async {
        let blobs = blobs
        for blob in made {
            guard let isUsed = try? await database.read({ try TitleStore.uses(blob: blob.text, in: $0) }), !isUsed else {
                continue  // in doubt it stays
            }
            _ = try? await thread.run { try blobs.delete(blob) }
        }
    }
}
