// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI
import CarrelWorks

/// `/v1/shelf/editions`: the editions of the bookshelf, next to audiobooks. Requests come from an account's own browser.
struct EditionShelfRoutes {
    let shelf: EditionShelf
    let callers: RequestAuthenticator

    private static let pageSize = 60

    func add(to router: inout Router) {
        router.on(.get, "v1/shelf/editions") { request, _ in
            let account = try await callers.reader(request)
            let number = try request.query.integer("page", in: 1...100_000) ?? 1
            let words = request.query["q"].flatMap { $0.isEmpty ? nil : $0 }
            guard let page = try await shelf.page(of: .account(account), number, size: Self.pageSize, words: words)
            else { throw EditionDownloads.missing }
            var response = HTTPResponse.json([
                "editions": .array(page.editions.map { .object(Self.json($0)) }), "total": .integer(page.total),
                "nextPage": number < page.last ? .integer(number + 1) : .null,
            ])
            response.headers["Cache-Control"] = "private, no-store"
            return response
        }
    }

    private static func json(_ edition: Edition) -> JSONObject {
        let metadata = edition.title.metadata
        return [
            "id": .string(edition.productID),
            "kind": .string(edition.title.kind.rawValue),
            "title": .string(metadata.title),
            "subtitle": .init(metadata.subtitle),
            "authors": .array(metadata.authors.map { .string($0) }),
            "language": .init(metadata.language),
            "issuedAt": .string(edition.issuedAt.description),
            "bytes": .integer(edition.byteCount),
            "address": .string(edition.path + edition.reading.address),
            "cover": edition.title.cover == nil ? .null : .string(edition.path + "-/cover"),
        ]
    }
}
