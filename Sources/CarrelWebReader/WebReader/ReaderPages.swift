import CarrelHTTP
import CarrelPublication
import CarrelWeb

/// The reader's page and its files, and the documents of the publication that it shows in frames.
struct ReaderPages {
    let session: ReadingSession
    /// In the addresses of PDF documents, which are sent without a sandbox, because browsers show none in one.
    let documents = SessionToken()

    /// Of the page: our own files and frames, no script in markup, no markup from strings, in nobody's frame.
    private static let policy = [
        "default-src 'self'", "object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    func add(to router: inout Router) {
        router.on(.get, "assets/{name}") { request, parameters in
            try session.admit(request)
            guard let asset = WebAssets.named(parameters["name"]) else {
                throw HTTPError(.notFound, "http.notFound", "there is nothing at this path")
            }
            return Self.response(asset, request, ["Cache-Control": "no-cache"])
        }
        router.on(.get, "read/{token}/", secret: ["token"]) { request, parameters in
            try session.admitControl(request, parameters["token"])
            guard let page = WebAssets.named("read.html") else { throw HTTPError(.notFound, "http.notFound") }
            return Self.response(
                page,
                request,
                [
                    "Content-Security-Policy": Self.policy, "Cache-Control": "no-store",
                    "Cross-Origin-Opener-Policy": "same-origin",
                    "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
                ]
            )
        }
        router.on(.get, "page/{token}/{path...}", secret: ["token", "path"]) { request, parameters in
            try session.admit(request, parameters["token"], as: session.content)
            return try await page(parameters["path"], request)
        }
        router.on(.get, "document/{token}/{path...}", secret: ["token", "path"]) { request, parameters in
            try session.admit(request, parameters["token"], as: documents)
            return try await document(parameters["path"], request)
        }
    }

    private func resource(_ path: String) throws(HTTPError) -> any Resource {
        guard let path = ResourcePath(decoded: path) else {
            throw HTTPError(.notFound, "http.notFound", "there is nothing at this path")
        }
        return session.publication.get(Link(path))
    }

    /// A resource as `/publication/` has it; documents get the script that turns their pages.
    private func page(_ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        var resource = try resource(path)
        let type = resource.link.mediaType
        let isShown = type?.isHTML ?? ["xhtml", "html", "htm", "xht"].contains(resource.link.path?.fileExtension)
        let isFrame = request.headers["Sec-Fetch-Dest"] == "iframe"
        if isShown || (isFrame && type?.essence == "image/svg+xml") {
            resource = try await ScriptedDocument.adding(to: resource)
        }
        return try await ServedResource(resource, salt: "page " + session.content.text)
            .response(to: request, ContentPolicy.fields)
    }

    /// A PDF document, and nothing else: it is sent without a sandbox.
    private func document(_ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        let resource = try resource(path)
        let head = try await resource.read(0..<1024)
        let mark = Array("%PDF-".utf8)
        guard head.indices.contains(where: { head[$0...].starts(with: mark) }) else {
            throw HTTPError(.notFound, "http.notFound", "there is no document at this path")
        }
        return try await ServedResource(resource, mediaType: "application/pdf", salt: documents.text)
            .response(
                to: request,
                [
                    "Content-Security-Policy": "frame-ancestors 'self'", "X-Content-Type-Options": "nosniff",
                    "Referrer-Policy": "no-referrer", "Cache-Control": "private, no-cache",
                ]
            )
    }

    private static func response(_ asset: WebAsset, _ request: HTTPRequest, _ fields: HTTPFields) -> HTTPResponse {
        .serving(
            Representation(asset.bytes, contentType: asset.mediaType, etag: asset.etag),
            for: request,
            headers: fields,
            isCompressible: true
        )
    }
}
