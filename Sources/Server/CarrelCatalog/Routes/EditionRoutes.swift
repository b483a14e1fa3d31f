// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelWebAPI
import CarrelWorks

/// `/admin/v1/editions`: back-office operations on editions.
struct EditionRoutes {
    let editions: Editions
    let ingesting: IngestService
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/editions") { request, _ in
            try await callers.require(request, .readCatalog)
            let page = try ListPage(request.query)
            let found = try await editions.list(after: page.after.map { ($0.0, $0.1) }, limit: page.limit)
            return .json(
                .object(
                    page.json("editions", found) {
                        .object($0.json)
                    } cursor: {
                        ($0.issuedAt, $0.productID)
                    }
                )
            )
        }
        router.on(.post, "admin/v1/editions", acceptsChunks: true) { request, _ in try await upload(request) }
        router.on(.get, "admin/v1/editions/{product}") { request, parameters in
            try await callers.require(request, .readCatalog)
            let edition = try await editions.find(parameters["product"])
            var answer = edition.json
            answer["resources"] = .array(try await editions.resources(of: edition).map(Self.json))
            return .json(.object(answer))
        }
        router.on(.patch, "admin/v1/editions/{product}") { request, parameters in
            let actor = try await callers.require(request, .changeCatalog)
            let change = try Self.change(try await JSONBody.object(of: request, limit: 1 << 20, values: 4000))
            let edition = try await editions.change(parameters["product"], change, by: actor)
            return .json(.object(edition.json))
        }
        router.on(.post, "admin/v1/editions/{product}/publish") { request, parameters in
            let actor = try await callers.require(request, .changeCatalog)
            return .json(.object(try await editions.publish(parameters["product"], by: actor).json))
        }
        router.on(.post, "admin/v1/editions/{product}/withdraw") { request, parameters in
            let actor = try await callers.require(request, .changeCatalog)
            return .json(.object(try await editions.withdraw(parameters["product"], by: actor).json))
        }
    }

    /// Ingests the body as an edition: an EPUB or PDF file, or a ZIP archive of pages.
    private func upload(_ request: HTTPRequest) async throws -> HTTPResponse {
        let actor = try await callers.require(request, .changeCatalog)
        let query = request.query
        guard let productID = query["productId"] else { throw ServerError(.invalid, "productId is missing") }
        var options = EditionOptions(productID: productID)
        options.overrides = try TitleRoutes.overrides(query)
        options.untitled = .named(productID)
        options.samples = query.all("sample")
        options.allowTruncated = query.flag("allowTruncated")
        var terms = Edition.Terms(productID: productID)
        terms.price = try Self.price(query["price"])
        terms.licensed = try Self.licensed(query["licensed"])
        terms.isDraft = query.flag("draft")
        terms.issuedAt = try Self.date(query["issued"], "issued")
        terms.publishedAt = try Self.date(query["published"], "published")
        let outcome = try await ingesting.withUpload(request) { try await ingesting.ingest($0, options, terms, by: actor) }
        return outcome.response(outcome.entry.json)
    }

    private static func change(_ object: JSONObject) throws -> Editions.Change {
        try object.allowOnly([
            "title", "subtitle", "authors", "publisher", "language", "description", "price", "licensed", "issuedAt",
            "publishedAt",
            "samples",
        ])
        var change = Editions.Change()
        change.metadata.title = try object.string("title")
        change.metadata.subtitle = try object.string("subtitle")
        change.metadata.authors = try object.strings("authors") ?? []
        change.metadata.publisher = try object.string("publisher")
        change.metadata.language = try object.string("language")
        change.metadata.description = try object.string("description")
        change.price = try price(try object.string("price"))
        change.licensed = try licensed(try object.string("licensed"))
        change.issuedAt = try object.instant("issuedAt")
        change.publishedAt = try object.instant("publishedAt")
        change.samples = try object.strings("samples")
        return change
    }

    static func price(_ text: String?) throws -> Edition.Price? {
        guard let text else { return nil }
        guard let price = Edition.Price(rawValue: text) else { throw ServerError(.invalid, "price must be \"free\" or \"paid\"") }
        return price
    }

    static func licensed(_ text: String?) throws -> Edition.Licensed? {
        guard let text else { return nil }
        guard let licensed = Edition.Licensed(rawValue: text) else {
            throw ServerError(.invalid, "licensed must be \"off\", \"also\" or \"only\"")
        }
        return licensed
    }

    private static func date(_ text: String?, _ name: String) throws -> Instant? {
        guard let text else { return nil }
        guard let instant = Instant.parse(text) else {
            throw ServerError(.invalid, "\(name) must be an instant such as 2026-01-31T18:00:00Z")
        }
        return instant
    }

    private static func json(_ resource: EditionResource) -> JSON {
        [
            "path": .string(resource.path), "mediaType": .string(resource.mediaType), "bytes": .integer(resource.byteCount),
            "sample": .bool(resource.isSample), "digest": .string(resource.digest),
        ]
    }
}
