// SPDX-License-Identifier: Apache-2.0

import CarrelLoopback
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelPublication

/// The routes of the reader's page, below `/read/TOKEN/`.
struct ReaderRoutes {
    let session: ReadingSession
    let records: ReadingRecords
    let drawn: DrawnDocuments

    private static let base = "read/{token}/"
    private static let placeLimit = 64 << 10
    private static let annotationLimit = 256 << 10
    private static let importLimit = 32 << 20

    var publication: Publication { session.publication }

    func add(to router: inout Router) {
        on(&router, .get, "book") { _, _ in .json(try await book().write()) }
        on(&router, .put, "place") { request, _ in
            guard let place = Locator(try await Self.json(request, upTo: Self.placeLimit)),
                publication.link(withHREF: place.href) != nil
            else { throw HTTPError(.badRequest, "reader.place", "the place is not in the publication") }
            try await records.setPlace(place)
            return .empty()
        }
        on(&router, .put, "preferences") { request, _ in
            let json = try await Self.json(request, upTo: Self.placeLimit)
            guard json.object != nil else { throw HTTPError(.badRequest, "http.json", "send a JSON object") }
            try await records.setPreferences(json)
            return .empty()
        }
        on(&router, .get, "state") { request, _ in .json(state(ofResource: request.query["href"]).write()) }
        on(&router, .get, "search") { request, _ in .json(try await search(request).write()) }
        addAnnotations(to: &router)
        addDrawnPages(to: &router)
    }

    private func addAnnotations(to router: inout Router) {
        on(&router, .get, "annotations") { _, _ in
            let collection = ReaderAnnotation.collection(
                try await records.record().annotations,
                of: publication.metadata.title.description
            )
            return .bytes(
                collection.writePretty() + [UInt8(ascii: "\n")],
                type: ReaderAnnotation.mediaType,
                headers: ["Content-Disposition": "attachment; filename=\"annotations.jsonld\""]
            )
        }
        on(&router, .post, "annotations") { request, _ in
            let found = ReaderAnnotation.list(try await Self.json(request, upTo: Self.importLimit))
                .filter { publication.link(withHREF: $0.source) != nil }
            guard !found.isEmpty else {
                throw HTTPError(.badRequest, "reader.annotations", "there are no annotations of this publication in it")
            }
            let isKept = try await records.update { record in
                for annotation in found where !record.put(annotation) { return false }
                return true
            }
            guard isKept else { throw Self.tooMany }
            return .json(ReaderAnnotation.collection(found, of: publication.metadata.title.description).write())
        }
        on(&router, .put, "annotations/{id}") { request, parameters in
            guard let annotation = ReaderAnnotation(try await Self.json(request, upTo: Self.annotationLimit)),
                annotation.id == parameters["id"], publication.link(withHREF: annotation.source) != nil
            else {
                throw HTTPError(
                    .badRequest,
                    "reader.annotations",
                    "the annotation is not of this publication, or its words or its note have more than "
                        + "\(ReaderAnnotation.textLimit) bytes"
                )
            }
            guard try await records.update({ $0.put(annotation) }) else { throw Self.tooMany }
            return .empty()
        }
        on(&router, .delete, "annotations/{id}") { _, parameters in
            let id = parameters["id"]
            _ = try await records.update { record in
                let before = record.annotations.count
                record.annotations.removeAll { $0.id == id }
                return record.annotations.count < before
            }
            return .empty()
        }
    }

    private static let tooMany = HTTPError(
        .contentTooLarge,
        "reader.annotations",
        "more than \(ReadingRecord.annotationLimit) annotations, or \(ReadingRecords.sizeLimit >> 20) MiB of them, are not kept"
    )

    /// A route that only the reader's page may use, and whose responses are not cached.
    func on(_ router: inout Router, _ method: HTTPMethod, _ route: String, _ action: @escaping Route.Action) {
        router.on(method, Self.base + route, secret: ["token"]) { request, parameters in
            var response = try await action(request, parameters)
            response.headers["Cache-Control"] = "no-store"
            response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
            return response
        }
    }

    /// All that the page needs to begin.
    private func book() async throws -> JSON {
        let (record, place) = (try await records.record(), try await records.place())
        let rights = publication.rights
        let (canCopy, canPrint) = (await rights.canCopy, await rights.canPrint)
        let bytes = publication.manifest.json()
        let manifest = try JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 200, byteCount: 64 << 20))
        return [
            "manifest": manifest,
            "publication": .string("/publication/\(session.content.text)/"),
            "pages": .string("/page/\(session.content.text)/"),
            "documents": .string("/document/\(session.documents.text)/"),
            "protection": .string("/protection/\(session.control.text)/~readium/"),
            "protectedBy": publication.protectionName.map(JSON.string) ?? .null,
            "drawsDocuments": .bool(session.drawsDocuments),
            "watermark": publication.watermark.map(JSON.string) ?? .null,
            "canEnd": .bool(publication.canEnd),
            "positions": .array(await positionCounts()),
            "rights": ["canCopy": .bool(canCopy), "canPrint": .bool(canPrint)],
            "record": ["place": place?.json ?? .null, "annotations": .array(record.annotations.map(\.json))],
            "preferences": try await records.preferences(),
        ]
    }

    /// The state that may change while the page is open: whether the licenses last, and their conditions.
    ///
    /// - Parameter href: the resource on the screen; nil for none.
    /// - Returns: the reasons of the ends, or null, and the conditions.
    private func state(ofResource href: String?) -> JSON {
        let link = href.flatMap { ResourcePath(href: $0) }.map { Link($0) }
        let covered = link.flatMap { publication.endReason(of: $0) } ?? publication.endReason
        return [
            "ended": publication.endReason.map(JSON.string) ?? .null,
            // the license of this resource may end before others
            "covered": covered.map(JSON.string) ?? .null,
            "watermark": publication.watermark.map(JSON.string) ?? .null,
            "drawsDocuments": .bool(session.drawsDocuments),
        ]
    }

    /// The number of positions of each resource in the reading order; empty if the publication has no positions.
    private func positionCounts() async -> [JSON] {
        guard let counts = try? await publication.positionCountsByReadingOrder() else { return [] }
        return counts.map { .integer($0) }
    }

    private func search(_ request: HTTPRequest) async throws -> JSON {
        guard let query = request.query["query"], !query.isEmpty, query.count <= PublicationSearch.queryLimit else {
            throw HTTPError(.badRequest, "http.parameter", "query is what to look for, in at most 200 characters")
        }
        var start = PublicationSearch.Place(resource: 0, hits: 0)
        if let text = request.query["from"] {
            let numbers = text.split(separator: ".").compactMap { Int($0) }
            guard numbers.count == 2, numbers.allSatisfy({ $0 >= 0 }) else {
                throw HTTPError(.badRequest, "http.parameter", "from is what an answer named as next")
            }
            start = PublicationSearch.Place(resource: numbers[0], hits: numbers[1])
        }
        let results = try await PublicationSearch(publication: publication).hits(of: query, from: start)
        return [
            "locators": .array(results.locators.map(\.json)),
            "next": results.next.map { .string("\($0.resource).\($0.hits)") } ?? .null,
        ]
    }

    private static func json(_ request: HTTPRequest, upTo limit: Int) async throws(HTTPError) -> JSON {
        let body = try await request.body.collect(upTo: limit)
        do {
            return try JSON.parse(body.rawSpan, limits: JSONLimits(byteCount: limit))
        } catch {
            throw HTTPError(.badRequest, "http.json", "the body is not JSON: \(error)")
        }
    }
}
