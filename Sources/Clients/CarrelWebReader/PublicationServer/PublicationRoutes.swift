// SPDX-License-Identifier: Apache-2.0

import CarrelLoopback
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelPublication

/// Serves the manifest, the resources and the publication's services, below `/publication/TOKEN/`.
struct PublicationRoutes {
    let session: ReadingSession
    /// The `https:` or `http:` address of the server, without a slash at the end.
    let origin: @Sendable () -> String

    private var publication: Publication { session.publication }

    func add(to router: inout Router) {
        router.on(.get, "publication/{token}/manifest.json", secret: ["token"]) { request, parameters in
            manifest(request)
        }
        router.on(.get, "publication/{token}/{path...}", secret: ["token", "path"]) { request, parameters in
            try session.refuseNavigation(request)
            return try await resource(at: parameters["path"]).response(
                to: request,
                ContentPolicy.fields(isProtected: publication.isProtected)
            )
        }
    }

    /// Returns the resource at a path of the publication.
    ///
    /// - Parameter path: the decoded path.
    /// - Returns: the resource; if it may not or cannot be read, reading it fails.
    /// - Throws: 404 for a malformed path, 403 for a resource that a restricted publication refuses.
    func resource(at path: String) async throws -> ServedResource {
        guard let path = ResourcePath(decoded: path) else {
            throw HTTPError.notFound("there is nothing at this path")
        }
        guard path.href != Cover.href else { return try await served(try await coverResource()) }
        if publication.isRestricted, path.string.hasPrefix("~readium/") {
            throw ResourceError(.forbidden, publication.protectionErrorMessage ?? "the publication is restricted")
        }
        return try await served(publication.get(Link(path)))
    }

    private func served(_ resource: any Resource) async throws -> ServedResource {
        try await session.refuseDrawn(resource)
        return ServedResource(resource, salt: session.content.text)
    }

    /// The cover of the publication's service, or else the resource that the manifest calls its cover.
    private func coverResource() async throws(ResourceError) -> any Resource {
        if let cover = try await publication.cover() {
            return BytesResource(Link(href: Cover.href, mediaType: cover.mediaType), cover.bytes)
        }
        guard let named = publication.links(withRelation: "cover").first(where: { $0.href != Cover.href }) else {
            throw ResourceError(.notFound, "the publication has no cover")
        }
        return publication.get(named)
    }

    /// The publication's manifest, with a `self` link to this address.
    private func manifest(_ request: HTTPRequest) -> HTTPResponse {
        var manifest = publication.manifest
        let type = Self.mediaType(of: manifest)
        manifest.links.removeAll { $0.relations.contains("self") }
        let own = Link(
            href: "\(origin())/publication/\(session.content.text)/manifest.json",
            mediaType: MediaType(type),
            relations: ["self"]
        )
        manifest.links.insert(own, at: 0)
        if publication.isProtected { manifest.links += ProtectionRoutes.links }
        let bytes = manifest.json()
        let tag = EntityTag(Base64URL.encode(SHA256.hash(bytes.rawSpan).prefix(16)))
        return .serving(
            Representation(bytes, contentType: type, etag: tag.description),
            for: request,
            headers: ContentPolicy.fields(isProtected: publication.isProtected),
            isCompressible: true
        )
    }

    private static func mediaType(of manifest: Manifest) -> String {
        if manifest.conforms(to: .audiobook) { return "application/audiobook+json" }
        if manifest.conforms(to: .divina) { return "application/divina+json" }
        return Manifest.mediaType.description
    }
}
