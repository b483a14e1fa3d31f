// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudio
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelWebAPI
import CarrelWorks

/// `/admin/v1/titles`: the catalog, for back offices.
struct TitleRoutes {
    let titles: Titles
    let ingesting: IngestService
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/titles") { request, _ in
            try await callers.require(request, .readCatalog)
            let page = try ListPage(request.query)
            let found = try await titles.list(after: page.after, limit: page.limit)
            return .json(
                .object(
                    page.json("titles", found) {
                        .object($0.json)
                    } cursor: {
                        ($0.createdAt, $0.id)
                    }
                )
            )
        }
        router.on(.get, "admin/v1/titles/{title}") { request, parameters in
            try await callers.require(request, .readCatalog)
            return .json(.object(try await titles.find(parameters["title"]).json))
        }
        router.on(.post, "admin/v1/titles", acceptsChunks: true) { request, _ in try await upload(request) }
        router.on(.put, "admin/v1/titles/{title}/cover", acceptsChunks: true) { request, parameters in
            try await callers.require(request, .changeCatalog)
            let title = try await titles.find(parameters["title"])
            return try await ingesting.withUpload(request, limit: Int64(AudioTags.Cover.limit)) { path in
                let actor = try await callers.actor(request)
                return .json(.object(try await ingesting.replaceCover(of: title, by: path, actor).json))
            }
        }
    }

    /// Ingests the body: an audio file or a ZIP of them; the query overrides its metadata.
    private func upload(_ request: HTTPRequest) async throws -> HTTPResponse {
        let actor = try await callers.require(request, .changeCatalog)
        var options = IngestOptions()
        options.overrides = try Self.overrides(request.query)
        options.allowTruncated = request.query.flag("allowTruncated")
        options.isStrict = request.query.flag("strict")
        options.segmentSeconds = try request.query.number("segmentSeconds", in: 1...60) ?? options.segmentSeconds
        options.sampleSeconds = try request.query.number("sampleSeconds", in: 0...600) ?? options.sampleSeconds
        options.untitled = .refused
        let outcome = try await ingesting.withUpload(request) { try await ingesting.ingest($0, options, by: actor) }
        return outcome.response(outcome.entry.json)
    }

    static func overrides(_ query: Query) throws -> MetadataOverrides {
        var overrides = MetadataOverrides()
        overrides.title = query["title"]
        overrides.subtitle = query["subtitle"]
        overrides.authors = query.all("author")
        overrides.narrators = query.all("narrator")
        overrides.publisher = query["publisher"]
        overrides.language = query["language"]
        overrides.description = query["description"]
        if let text = query["isbn"] {
            guard let isbn = ISBN(text) else { throw ServerError(.invalid, "isbn is not an ISBN") }
            overrides.isbn = isbn
        }
        return overrides
    }
}
