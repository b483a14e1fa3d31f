// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelHTTP
import CarrelHome
package import CarrelIngest
import CarrelPackager
import CarrelStore
import CarrelWebAPI
package import CarrelWorks

/// The catalog: titles with their media, covers and samples.
package struct Titles: Sendable {
    let database: any Database
    let blobs: any BlobStore
    let coldBlobs: BlobIOPool
    let clock: any WallClock

    package func find(_ id: String) async throws -> Title {
        guard let title = try await database.read({ try TitleStore.title(id: id, in: $0) }) else {
            throw ServerError(.notFound, "there is no such title")
        }
        return title
    }

    /// The newest title of an ISBN.
    package func find(isbn text: String) async throws -> Title {
        guard let isbn = ISBN(text) else { throw ServerError(.invalid, "isbn is not an ISBN") }
        guard let title = try await database.read({ try TitleStore.titles(isbn: isbn, in: $0).first }) else {
            throw ServerError(.notFound, "there is no title with this ISBN")
        }
        return title
    }

    /// A page of the catalog, oldest first.
    package func list(after: (Instant, String)? = nil, limit: Int = 100) async throws -> [Title] {
        try await database.read { try TitleStore.list(after: after, limit: limit, in: $0) }
    }

    /// The title that was made from a source with this hash, if any.
    package func find(sourceHash: [UInt8]) async throws -> Title? {
        try await database.read { try TitleStore.title(sourceHash: sourceHash, in: $0) }
    }

    /// Adds the result of an ingest. A known source returns the existing title.
    ///
    /// - Parameters:
    ///   - made: the result of the ingest.
    ///   - isStrict: whether a new title may not have another's ISBN.
    ///   - actor: the actor for the audit log.
    /// - Returns: the title, whether it is new, and the ids of other titles that have its ISBN.
    /// - Throws: ``ServerError`` `conflict` if `isStrict`.
    package func add(
        _ made: IngestedTitle,
        isStrict: Bool = false,
        by actor: AuditActor
    ) async throws -> (title: Title, created: Bool, twins: [String]) {
        let title = Title(
            id: Random.uuid(),
            kind: .audiobook,
            metadata: made.metadata,
            durationMS: made.durationMS,
            cover: made.cover.map { ($0.blob.description, $0.mediaType) },
            sample: made.sample.map { ($0.blob.description, $0.durationMS) },
            createdAt: clock.now
        )
        let index = made.index.serialized()
        let entry = actor.entry("title.ingest", on: title.id, at: title.createdAt)
        return try await database.write { transaction in
            var twins: [String] = []
            if let isbn = made.metadata.isbn {
                let known = try TitleStore.title(sourceHash: made.sourceHash, in: transaction)
                twins = try TitleStore.ids(isbn: isbn, in: transaction).filter { $0 != known?.id }
                if isStrict, known == nil { try Self.refuse(isbn, twins) }
            }
            let created = try TitleStore.insert(
                title,
                sourceHash: made.sourceHash,
                mediaBlob: made.media.description,
                segmentIndex: index,
                in: transaction
            )
            if created {
                try AuditStore.append(entry, in: transaction)
                return (title, true, twins)
            }
            guard let known = try TitleStore.title(sourceHash: made.sourceHash, in: transaction) else {
                throw ServerError(.conflict, "the title could not be added")
            }
            return (known, false, twins)
        }
    }

    /// Writes other metadata to a title.
    package func update(_ metadata: TitleMetadata, of title: Title, by actor: AuditActor) async throws -> Title {
        guard metadata != title.metadata else { return title }
        let entry = actor.entry("title.change", on: title.id, at: clock.now)
        try await database.write { transaction in
            try TitleStore.updateMetadata(metadata, of: title.id, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return try await find(title.id)
    }

    /// Replaces a title's cover.
    func setCover(_ cover: (blob: BlobID, mediaType: String), of title: Title, by actor: AuditActor) async throws -> Title {
        let entry = actor.entry("title.cover", on: title.id, at: clock.now)
        try await database.write { transaction in
            try TitleStore.setCover(cover.blob.text, cover.mediaType, of: title.id, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        return try await find(title.id)
    }

    /// The cover of a title as a response.
    package func coverResponse(of id: String, for request: HTTPRequest) async throws -> HTTPResponse {
        let title = try await find(id)
        guard let cover = title.cover else { throw ServerError(.notFound, "this title has no cover") }
        return try await blobResponse(
            cover.blob,
            mediaType: cover.mediaType,
            request: request,
            cacheControl: "private, max-age=86400"
        )
    }

    /// A whole small blob as a response, with ranges and conditions.
    package func blobResponse(
        _ id: String,
        mediaType: String,
        request: HTTPRequest,
        cacheControl: String
    ) async throws -> HTTPResponse {
        let file = try await coldBlobs.soundFile(id)
        return HTTPResponse.serving(
            Representation(length: file.size, contentType: mediaType, etag: "\"\(id.prefix(32))\"") { .file(file, $0) },
            for: request,
            headers: ["Cache-Control": cacheControl]
        )
    }
}
