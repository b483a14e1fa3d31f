// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPackager
import CarrelStore
import CarrelThreads
import CarrelWebAPI
import CarrelWorks

/// `/admin/v1/accessions/…`: requests of an ingest outside the server process, so that only the server writes the database.
/// Routes for clients on the home itself: the blobs they name must already be in the home.
struct IngestRoutes {
    let titles: Titles
    let editions: Editions
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/accessions/titles") { request, _ in
            let actor = try await actor(request)
            let accession = try TitleIngestRequest(parsing: try await request.body.collect(upTo: TitleIngestRequest.limit))
            let register = TitleWriter(
                titles: titles,
                overrides: accession.overrides,
                isStrict: accession.isStrict,
                actor: actor,
                thread: IngestService.uploads
            )
            if let made = accession.made {
                try await check([(made.media, made.index.byteCount), (made.cover?.blob, nil), (made.sample?.blob, nil)])
            }
            try await check([(accession.cover?.blob, nil)])
            return try await answer(accession.sourceHash, accession.cover, accession.made, register) { $0.json }
        }
        router.on(.post, "admin/v1/accessions/editions") { request, _ in
            let actor = try await actor(request)
            let accession = try EditionIngestRequest(parsing: try await request.body.collect(upTo: EditionIngestRequest.limit))
            let register = try EditionWriter(
                editions: editions,
                titles: titles,
                options: accession.options,
                terms: accession.terms,
                actor: actor,
                thread: IngestService.uploads
            )
            if let made = accession.made {
                try await check([(made.media, made.byteCount), (made.cover?.blob, nil)])
            }
            try await check([(accession.cover?.blob, nil)])
            return try await answer(accession.sourceHash, accession.cover, accession.made, register) { $0.json }
        }
        router.on(.post, "admin/v1/accessions/pages") { request, _ in
            _ = try await actor(request)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["productId"])
            let product = try object.requiredString("productId")
            return .json(.object(PageHistoryDocument.write(try await editions.pageHistory(of: product)))).unstored
        }
        router.on(.post, "admin/v1/accessions/take-back") { request, _ in
            _ = try await actor(request)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["blobs"])
            let blobs = try (try object.strings("blobs", limit: 16) ?? []).map { text in
                guard let blob = BlobID(text) else { throw ServerError(.invalid, "blobs must be a list of blob ids") }
                return blob
            }
            await titles.discard(Set(blobs), on: IngestService.uploads)
            return .empty(.noContent).unstored
        }
    }

    private func actor(_ request: HTTPRequest) async throws -> AuditActor {
        let actor = try await callers.require(request, .changeCatalog)
        guard case .local = request.peer else {
            throw ServerError(.forbidden, "only a command on the server's own home can do this")
        }
        return actor
    }

    /// Registers the result, or responds with the source's entry in the catalog.
    private func answer<Register: CatalogWriter>(
        _ sourceHash: [UInt8],
        _ cover: (blob: BlobID, mediaType: String)?,
        _ made: Register.Made?,
        _ register: Register,
        json: (Register.Entry) -> JSONObject
    ) async throws -> HTTPResponse {
        guard let made else {
            let known = try await register.again(sourceHash, cover: cover)
            return .json([
                "titles": .array(known.map { [.object(json($0.entry))] } ?? []), "created": false,
                "warnings": .array((known?.warnings ?? []).map { .string($0) }),
            ])
        }
        let entered = try await register.enter(made)
        return .json(
            [
                "titles": [.object(json(entered.entry))], "created": .bool(entered.change == .created),
                "replaced": .bool(entered.change == .replaced), "warnings": .array(entered.warnings.map { .string($0) }),
            ],
            status: entered.change == .created ? .created : .ok
        )
    }

    /// Refuses blobs that the home does not have, or that are not as long as is said.
    private func check(_ wanted: [(blob: BlobID?, byteCount: Int64?)]) async throws {
        let blobs = titles.blobs
        try await IngestService.uploads.run {
            for (blob, byteCount) in wanted {
                guard let blob else { continue }
                guard let found = try? blobs.open(blob), byteCount == nil || found.byteCount == byteCount else {
                    throw ServerError(.invalid, "blob not found: use the server's own home")
                }
            }
        }
    }
}
