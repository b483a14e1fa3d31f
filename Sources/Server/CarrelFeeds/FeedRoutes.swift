// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelStore
import CarrelSubscription
import CarrelWebAPI
import CarrelWorks
import CarrelXML

/// `/opds/…`: the catalog of editions, as OPDS 1.2 and as OPDS 2.0.
///
/// The feeds are the same for all readers; the feed with drafts has a separate address, like the personal feeds
/// (``ShelfFeedRoutes``).
struct FeedRoutes {
    let database: any Database
    let searches: CatalogSearches
    let document: AuthenticationDocument
    /// Names the catalog for good.
    let catalogID: String
    /// Parameter names of the sign-in calls.
    let parameters: ParameterNames
    let callers: RequestAuthenticator
    let gate: FeedAuthorizer

    /// The address of the shelf as Atom.
    static let shelfPath = "/opds/v1/shelf"
    private static let caching = "public, max-age=60"
    /// Pages of search results that are found by counting from the first.
    static let pageLimit = 10_000

    func add(to router: inout Router) {
        router.openToOtherOrigins(addFeeds)
    }

    private func addFeeds(to router: inout Router) {
        router.on(.get, "opds/v1{/}") { request, _ in
            try await gate.answer(request) { try await catalog(request, withDrafts: false) }
        }
        router.on(.get, "opds/v1/drafts") { request, _ in
            try await callers.require(request, .readCatalog)
            var response = try await catalog(request, withDrafts: true)
            response.headers["Cache-Control"] = "private, no-store"
            response.headers["Vary"] = "Authorization"
            return response
        }
        router.on(.get, "opds/v1/search") { request, _ in try await gate.answer(request) { try await atomSearch(request) } }
        router.on(.get, "opds/v1/search.xml") { request, _ in searchDescription(request) }
        router.on(.get, "opds/v2{/}") { request, _ in
            try await gate.answer(request) { try await publications(request, "/opds/v2") }
        }
        router.on(.get, "opds/v2/search") { request, _ in
            try await gate.answer(request) { try await publications(request, "/opds/v2/search") }
        }
        router.on(.get, "opds/v2/publications/{product}") { request, parameters in
            try await gate.answer(request) { try await publication(request, parameters["product"]) }
        }
        router.on(.get, "opds/authentication") { request, _ in
            Self.serve(document.json(request).write(), AuthenticationDocument.mediaType, request)
        }
        router.on(.get, "opds/cover.png") { request, _ in Self.serve(PlainCover.bytes, "image/png", request) }
    }

    private func catalog(_ request: HTTPRequest, withDrafts: Bool) async throws -> HTTPResponse {
        let path = withDrafts ? "/opds/v1/drafts" : "/opds/v1"
        let asked = try request.query.integer("limit", in: 1...1000)
        let (limit, mark) = (asked ?? 500, request.query["after"])
        let after = try PageCursor.parse(mark).map { (issuedAt: $0.0, productID: $0.1) }
        let editions = try await database.read {
            try EditionStore.list(after: after, withDrafts: withDrafts, limit: limit, in: $0)
        }
        func address(_ mark: String?) -> String {
            let parameters = [mark.map { "after=\(PercentEncoding.encode($0))" }, asked.map { "limit=\($0)" }].compactMap(\.self)
            return path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
        }
        var links: [AtomFeed.Link] = [
            .init(relation: "self", type: AtomFeed.mediaType, address: address(mark)),
            .init(relation: "start", type: AtomFeed.mediaType, address: path),
            .init(relation: "search", type: Self.searchType, address: "/opds/v1/search.xml"),
            .init(relation: AuthenticationDocument.shelfRelation, type: AtomFeed.mediaType, address: Self.shelfPath),
            .init(
                relation: "http://opds-spec.org/auth/document",
                type: AuthenticationDocument.mediaType,
                address: AuthenticationDocument.path
            ),
        ]
        if editions.count == limit, let last = editions.last {
            let next = PageCursor.text(last.issuedAt, last.productID)
            links.append(.init(relation: "next", type: AtomFeed.mediaType, address: address(next)))
        }
        var feed = AtomFeed(id: catalogID, title: document.title, base: document.base(of: request), links: links)
        feed.parameters = parameters
        return Self.serve(feed.write(editions), AtomFeed.mediaType, request)
    }

    private func atomSearch(_ request: HTTPRequest) async throws -> HTTPResponse {
        var search = EditionSearch()
        search.words = try Self.words(request, "q")
        let page = try request.query.integer("page", in: 1...Self.pageLimit) ?? 1
        let (editions, counts) = try await find(search, page: page)
        let total = counts.reduce(0) { $0 + $1.count }
        func address(_ page: Int) -> String {
            "/opds/v1/search?q=\(PercentEncoding.encode(search.words))" + (page == 1 ? "" : "&page=\(page)")
        }
        var links: [AtomFeed.Link] = [
            .init(relation: "self", type: AtomFeed.mediaType, address: address(page)),
            .init(relation: "start", type: AtomFeed.mediaType, address: "/opds/v1"),
        ]
        if page * PublicationFeed.pageSize < total {
            links.append(.init(relation: "next", type: AtomFeed.mediaType, address: address(page + 1)))
        }
        let feed = AtomFeed(
            id: "\(catalogID):search:\(PercentEncoding.encode(search.words))",
            title: document.title,
            base: document.base(of: request),
            links: links,
            total: total
        )
        return Self.serve(feed.write(editions), AtomFeed.mediaType, request)
    }

    private static let searchType = "application/opensearchdescription+xml"

    /// OpenSearch 1.1, which readers of OPDS 1 ask for.
    private func searchDescription(_ request: HTTPRequest) -> HTTPResponse {
        var writer = XMLWriter()
        writer.start("OpenSearchDescription", ["xmlns": "http://a9.com/-/spec/opensearch/1.1/"])
        writer.element("ShortName", text: String(document.title.prefix(16)))
        writer.element("Description", text: "Search \(document.title)")
        let template = "\(document.base(of: request))/opds/v1/search?q={searchTerms}"
        writer.element("Url", ["type": AtomFeed.mediaType, "template": template])
        writer.element("InputEncoding", text: "UTF-8")
        return Self.serve(writer.finish(), Self.searchType, request)
    }

    private func publications(_ request: HTTPRequest, _ path: String) async throws -> HTTPResponse {
        var search = EditionSearch()
        if path.hasSuffix("/search") {
            search.words = try Self.words(request, "query")
            search.title = try Self.words(request, "title")
            search.author = try Self.words(request, "author")
        }
        if let word = request.query["kind"], !word.isEmpty {
            guard let kind = Title.Kind(rawValue: word), kind != .audiobook else {
                throw ServerError(.invalid, "unknown kind")
            }
            search.kind = kind
        }
        if let word = request.query["price"], !word.isEmpty {
            guard let price = Edition.Price(rawValue: word) else {
                throw ServerError(.invalid, "price must be \"free\" or \"paid\"")
            }
            search.price = price
        }
        search.language = try request.query["language"].flatMap { $0.isEmpty ? nil : try Self.words(request, "language") }
        let page = try request.query.integer("page", in: 1...Self.pageLimit) ?? 1
        let (editions, counts) = try await find(search, page: page)
        let feed = PublicationFeed(
            title: document.title,
            base: document.base(of: request),
            path: path,
            search: search,
            page: page,
            editions: editions,
            counts: counts
        )
        return Self.serve(feed.json.write(), PublicationFeed.mediaType, request)
    }

    private func publication(_ request: HTTPRequest, _ productID: String) async throws -> HTTPResponse {
        let edition = try await database.read { try EditionStore.edition(product: productID, in: $0) }
        guard let edition, edition.state != .draft else { throw EditionDownloads.missing }
        guard edition.state == .published else { throw EditionDownloads.gone }
        let publication = Publication(edition: edition, base: document.base(of: request))
        return Self.serve(publication.json.write(), Publication.mediaType, request)
    }

    private func find(_ search: EditionSearch, page: Int) async throws -> ([Edition], [EditionSearch.Count]) {
        let size = PublicationFeed.pageSize
        let body: @Sendable (any Transaction) throws -> ([Edition], [EditionSearch.Count]) = {
            try EditionStore.find(search, limit: size, offset: (page - 1) * size, in: $0)
        }
        // A page of everything is a few rows by an index, and waits for no search.
        return search.hasWords ? try await searches.run(body) : try await database.read(body)
    }

    private static func words(_ request: HTTPRequest, _ name: String) throws(ServerError) -> String {
        let text = request.query[name] ?? ""
        guard text.utf8.count <= 1000 else { throw ServerError(.invalid, "\(name) is longer than 1000 bytes") }
        guard !text.utf8.contains(0) else { throw ServerError(.invalid, "\(name) contains the character U+0000") }
        return text
    }

    static func serve(_ bytes: [UInt8], _ type: String, _ request: HTTPRequest) -> HTTPResponse {
        HTTPResponse.serving(
            Representation(bytes, contentType: type, etag: EntityTag(of: bytes).description),
            for: request,
            headers: ["Cache-Control": caching],
            isCompressible: true
        )
    }
}
