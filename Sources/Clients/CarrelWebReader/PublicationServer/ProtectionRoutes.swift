// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelPublication

/// The protection of the publication and the rights of its reader (Readium architecture, proposal 006), below
/// `/protection/TOKEN/`. Requests that consume nothing are also below `/publication/TOKEN/`, for resources of the publication.
///
/// GET follows the proposal. POST takes the same as JSON, with a text as long as a chapter and an ID by which a repeated request
/// counts once.
struct ProtectionRoutes {
    let session: ReadingSession

    private static let base = "protection/{token}/~readium/"
    private static let open = "publication/{token}/~readium/"
    private static let stateType = "application/vnd.readium.content-protection+json"
    private static let copyType = "application/vnd.readium.rights.copy+json"
    private static let printType = "application/vnd.readium.rights.print+json"
    /// The links of a manifest to the routes below the publication.
    static let links = [
        Link(href: "~readium/content-protection", mediaType: MediaType(stateType)),
        Link(href: "~readium/rights/copy{?text,peek}", isTemplated: true, mediaType: MediaType(copyType)),
        Link(href: "~readium/rights/print{?pageCount,peek}", isTemplated: true, mediaType: MediaType(printType)),
    ]
    /// Bytes of a request's body at most: a text that is longer than a whole book is not copied.
    private static let bodyLimit = 4 << 20

    private var publication: Publication { session.publication }

    func add(to router: inout Router) {
        router.on(.get, Self.base + "content-protection", secret: ["token"]) { request, parameters in
            Self.answer(await state(), type: Self.stateType)
        }
        router.on(.get, Self.open + "content-protection", secret: ["token"]) { request, parameters in
            Self.forAnyOrigin(Self.answer(await state(), type: Self.stateType))
        }
        on(&router, "rights/copy") { (fields) async throws(HTTPError) in
            guard let text = fields.text else { throw Self.problem("text", "is the text to copy") }
            let isAllowed =
                try fields.peek
                ? await publication.rights.canCopy(text)
                : await publication.rights.copy(text, requestID: fields.requestID)
            return Self.decision(isAllowed, type: Self.copyType)
        }
        on(&router, "rights/print") { (fields) async throws(HTTPError) in
            guard let count = fields.pageCount, count > 0 else {
                throw Self.problem("pageCount", "is a positive number of pages")
            }
            let isAllowed =
                try fields.peek
                ? await publication.rights.canPrint(pageCount: count)
                : await publication.rights.print(pageCount: count, requestID: fields.requestID)
            return Self.decision(isAllowed, type: Self.printType)
        }
    }

    private func on(
        _ router: inout Router,
        _ route: String,
        _ decide: @escaping @Sendable (Fields) async throws(HTTPError) -> HTTPResponse
    ) {
        router.on(.get, Self.base + route, secret: ["token"]) { request, parameters in
            try await decide(Fields(request.query))
        }
        router.on(.get, Self.open + route, secret: ["token"]) { request, parameters in
            let fields = Fields(request.query)
            guard try fields.peek else { throw Self.consuming }
            return Self.forAnyOrigin(try await decide(fields))
        }
        router.on(.post, Self.base + route, secret: ["token"]) { request, parameters in
            let body = try await request.body.collect(upTo: Self.bodyLimit)
            guard let json = try? JSON.parse(body.rawSpan), json.object != nil else {
                throw HTTPError(.badRequest, "http.json", "send a JSON object")
            }
            return try await decide(Fields(json))
        }
    }

    /// The response to a script of the publication that would use up a right (decision 11).
    private static let consuming = HTTPError(
        .forbidden,
        "reader.peek",
        "below the publication's address rights are only looked at: add peek=true, or use the app's own address"
    )

    /// The documents of a publication have no origin; they know the token.
    private static func forAnyOrigin(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Access-Control-Allow-Origin"] = "*"
        return response
    }

    private func state() async -> JSON {
        var state: JSONObject = ["isRestricted": .bool(publication.isRestricted)]
        if let message = publication.protectionErrorMessage { state["error"] = ["en": .string(message)] }
        if let name = publication.protectionLocalizedName {
            var names = JSONObject()
            for translation in name.translations { names[translation.language ?? "en"] = .string(translation.text) }
            state["name"] = .object(names)
        }
        let rights = publication.rights
        let (canCopy, canPrint) = (await rights.canCopy, await rights.canPrint)
        state["rights"] = ["canCopy": .bool(canCopy), "canPrint": .bool(canPrint)]
        return .object(state)
    }

    private static func decision(_ isAllowed: Bool, type: String) -> HTTPResponse {
        answer(["allowed": .bool(isAllowed)], type: type, status: isAllowed ? .ok : .forbidden)
    }

    private static func answer(_ json: JSON, type: String, status: HTTPStatus = .ok) -> HTTPResponse {
        .bytes(json.write(), type: type, status: status, headers: ["Cache-Control": "no-store"])
    }

    private static func problem(_ name: String, _ what: String) -> HTTPError {
        HTTPError(.badRequest, "http.parameter", "\(name) \(what)")
    }

    /// The parameters of a request, from its query or its JSON.
    private struct Fields: Sendable {
        let text: String?
        let pageCount: Int?
        let requestID: String?
        private let peekText: String?

        init(_ query: Query) {
            text = query["text"]
            pageCount = query["pageCount"].flatMap { Int($0) }
            requestID = nil
            peekText = query["peek"]
        }

        init(_ json: JSON) {
            text = json["text"]?.string
            pageCount = json["pageCount"]?.int
            requestID = json["requestId"]?.string.flatMap { $0.isEmpty || $0.utf8.count > 200 ? nil : $0 }
            peekText = json["peek"].map { value in value.bool.map { $0 ? "true" : "false" } ?? "" }
        }

        /// Whether nothing is consumed.
        var peek: Bool {
            get throws(HTTPError) {
                switch peekText {
                case nil, "false": false
                case "true": true
                default: throw ProtectionRoutes.problem("peek", "is true or false")
                }
            }
        }
    }
}
