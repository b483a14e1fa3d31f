// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelJSON
import CarrelPublication

/// The pages of PDF documents that no viewer of a browser shows, because the rights to them are limited.
extension ReaderRoutes {
    func addDrawnPages(to router: inout Router) {
        on(&router, .get, "drawn") { request, _ in
            .json((["pages": .integer(Int64(try await document(request).pageCount))] as JSON).write())
        }
        on(&router, .get, "drawn/words") { request, _ in
            .json(Self.json(try await document(request).words(of: Self.number("page", request))).write())
        }
        on(&router, .get, "drawn/picture") { request, _ in
            let size = try Self.number("size", request)
            guard RenderedDocument.sizes.contains(size) else {
                throw HTTPError(.badRequest, "http.parameter", "size is one of \(RenderedDocument.sizes)")
            }
            let picture = try await document(request).picture(of: Self.number("page", request), size: size)
            return .bytes(picture, type: "image/png", headers: ["X-Content-Type-Options": "nosniff"])
        }
    }

    private func document(_ request: HTTPRequest) async throws -> RenderedDocument {
        // a separate window could save the picture, and its text could be copied uncounted
        try session.refuseNavigation(request)
        guard let href = request.query["href"], let path = ResourcePath(href: href) else {
            throw HTTPError(.badRequest, "http.parameter", "href is the address of a document of the publication")
        }
        guard session.drawsDocuments else {
            throw HTTPError.notFound("this publication is not drawn: the browser shows its documents")
        }
        return try await drawn.document(at: path)
    }

    private static func number(_ name: String, _ request: HTTPRequest) throws(HTTPError) -> Int {
        guard let number = request.query[name].flatMap({ Int($0) }), number > 0 else {
            throw HTTPError(.badRequest, "http.parameter", "\(name) is a positive number")
        }
        return number
    }

    /// Words as `[text, x, y, width, height]`, in lines, in blocks.
    private static func json(_ words: PageWords) -> JSON {
        let blocks = words.blocks.map { block in
            JSON.array(block.map { line in .array(line.map(json)) })
        }
        return ["width": .real(words.width), "height": .real(words.height), "blocks": .array(blocks)]
    }

    private static func json(_ word: PageWords.Word) -> JSON {
        [.string(word.text), .real(word.x), .real(word.y), .real(word.width), .real(word.height)]
    }
}
