// SPDX-License-Identifier: Apache-2.0

import CarrelEditionDelivery
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI

/// `/opds/v1/shelf` and `/opds/v2/shelf`: the editions that the requesting reader may read.
struct ShelfFeedRoutes {
    let shelf: EditionShelf
    let gate: FeedAuthorizer
    let document: AuthenticationDocument
    /// Names the catalog for good.
    let catalogID: String

    func add(to router: inout Router) {
        router.openToOtherOrigins { router in
            router.on(.get, "opds/v1/shelf") { request, _ in try await respond(request, AtomFeed.mediaType, atom) }
            router.on(.get, "opds/v2/shelf") { request, _ in
                try await respond(request, PublicationFeed.mediaType) { json($0, base: $1).write() }
            }
        }
    }

    private func respond(
        _ request: HTTPRequest,
        _ type: String,
        _ write: (EditionShelf.Page, String) -> [UInt8]
    ) async throws -> HTTPResponse {
        let number = try request.query.integer("page", in: 1...FeedRoutes.pageLimit) ?? 1
        guard let reader = try await gate.readers.reader(ofFeed: request),
            let page = try await shelf.page(of: reader, number, size: PublicationFeed.pageSize)
        else { return gate.refusal(request) }
        return gate.personal(FeedRoutes.serve(write(page, document.base(of: request)), type, request))
    }

    private func address(_ path: String, _ page: Int) -> String { page == 1 ? path : "\(path)?page=\(page)" }

    private func atom(_ page: EditionShelf.Page, base: String) -> [UInt8] {
        func link(_ relation: String, _ page: Int) -> AtomFeed.Link {
            .init(relation: relation, type: AtomFeed.mediaType, address: address(FeedRoutes.shelfPath, page))
        }
        var links = [link("self", page.number), .init(relation: "start", type: AtomFeed.mediaType, address: "/opds/v1")]
        if page.number < page.last { links.append(link("next", page.number + 1)) }
        var feed = AtomFeed(id: "\(catalogID):shelf", title: "Your shelf · \(document.title)", base: base, links: links)
        feed.total = page.total
        feed.isOfReaders = true
        return feed.write(page.editions)
    }

    private func json(_ page: EditionShelf.Page, base: String) -> JSON {
        func link(_ relation: String, _ address: String) -> JSON {
            ["rel": .string(relation), "href": .string(base + address), "type": .string(PublicationFeed.mediaType)]
        }
        func link(_ relation: String, _ page: Int) -> JSON { link(relation, address(AuthenticationDocument.shelfPath, page)) }
        var links = [link("self", page.number), link("first", 1), link("last", page.last), link("start", "/opds/v2")]
        if page.number > 1 { links.append(link("previous", min(page.number - 1, page.last))) }
        if page.number < page.last { links.append(link("next", page.number + 1)) }
        var feed: JSONObject = [
            "metadata": [
                "title": .string("Your shelf · \(document.title)"), "numberOfItems": .integer(page.total),
                "itemsPerPage": .integer(page.size), "currentPage": .integer(page.number),
            ],
            "links": .array(links),
        ]
        if page.editions.isEmpty {
            feed["navigation"] = [
                [
                    "title": .string(document.title), "href": .string("\(base)/opds/v2"),
                    "type": .string(PublicationFeed.mediaType),
                ]
            ]
        } else {
            feed["publications"] = .array(page.editions.map { Publication(edition: $0, base: base).json })
        }
        return .object(feed)
    }
}
