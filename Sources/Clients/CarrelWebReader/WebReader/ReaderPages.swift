// SPDX-License-Identifier: Apache-2.0

import CarrelLoopback
import CarrelHTTP
import CarrelPublication
import CarrelWeb

/// The reader's page and its files, and the documents of the publication that it shows in frames.
struct ReaderPages {
    let session: ReadingSession

    /// The page's content security policy: our own files and frames, no script in markup, no markup from strings, no embedding.
    private static let policy = [
        "default-src 'self'", "img-src 'self' blob:", "object-src 'none'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    func add(to router: inout Router) {
        router.on(.get, "assets/{name}") { request, parameters in
            guard let asset = WebAssets.named(parameters["name"]) else {
                throw HTTPError.notFound("there is nothing at this path")
            }
            return Self.response(asset, request, ["Cache-Control": "no-cache"])
        }
        router.on(.get, "read/{token}/", secret: ["token"]) { request, parameters in
            guard let page = WebAssets.named("read.html") else { throw HTTPError.notFound() }
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
            try await page(parameters["path"], request)
        }
        router.on(.get, "document/{token}/{path...}", secret: ["token", "path"]) { request, parameters in
            try await document(parameters["path"], request)
        }
    }

    private func resource(_ path: String) throws(HTTPError) -> any Resource {
        guard let path = ResourcePath(decoded: path) else {
            throw HTTPError.notFound("there is nothing at this path")
        }
        return session.publication.get(Link(path))
    }

    /// A resource as `/publication/` has it; documents get the script that turns their pages, and what cannot get it
    /// is refused while copies are counted.
    private func page(_ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.headers["Sec-Fetch-Dest"] != "document" else {
            throw HTTPError(.forbidden, "reader.navigation", "the pages of this publication are shown in the reader only")
        }
        var resource = try resource(path)
        let type = MediaType(ServedResource.mediaType(of: resource.link))
        try await session.refuseDrawn(resource)
        let isMarkup = type?.isHTML == true || (request.isForFrame && type.map(Self.isXML) == true)
        var salt = "page " + session.content.text
        if isMarkup, let scripted = try await ScriptedDocument.adding(to: resource) {
            resource = scripted
            salt += " script"
        } else if session.publication.isProtected, isMarkup || (request.isForFrame && !Self.hasNoText(type)) {
            throw HTTPError(
                .forbidden,
                "reader.unmetered",
                "a protected publication cannot be shown without what counts its copies"
            )
        }
        var fields = ContentPolicy.fields(isProtected: session.publication.isProtected)
        fields["Vary"] = "Sec-Fetch-Dest"
        return try await ServedResource(resource, salt: salt).response(to: request, fields)
    }

    /// Types that browsers show as a document that scripts can be in.
    private static func isXML(_ type: MediaType) -> Bool {
        type.subtype.hasSuffix("+xml") || ["application/xml", "text/xml"].contains(type.essence)
    }

    /// Types that browsers show without words that could be selected.
    private static func hasNoText(_ type: MediaType?) -> Bool {
        guard let type, !isXML(type) else { return false }
        return type.type == "image" || type.isAudio || type.isVideo
    }

    /// Serves a PDF document and nothing else: its frame has no sandbox other than the content security policy.
    private func document(_ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        let resource = try resource(path)
        try await session.refuseDrawn(resource)
        guard try await ReadingSession.isDocument(resource) else {
            throw HTTPError.notFound("there is no document at this path")
        }
        return try await ServedResource(resource, mediaType: "application/pdf", salt: session.documents.text)
            .response(to: request, ContentPolicy.fields(isProtected: session.publication.isProtected))
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
