// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelPublication

/// A resource of a publication as an HTTP response. It is closed when the response is over.
final class ServedResource: Sendable {
    private let resource: any Resource
    private let mediaType: String
    private let tag: String

    /// Memory of one response in bytes, in addition to the server's.
    private static let pieceSize = 64 << 10

    /// - Parameters:
    ///   - resource: the resource to send.
    ///   - mediaType: the media type; nil to derive it from the resource or its name.
    ///   - salt: the session's salt, which makes its entity tags unique.
    init(_ resource: any Resource, mediaType: String? = nil, salt: String) {
        self.resource = resource
        self.mediaType = mediaType ?? Self.mediaType(of: resource.link)
        let name = Array("\(salt)\n\(self.mediaType)\n\(resource.link.href)".utf8)
        tag = Base64URL.encode(SHA256.hash(name.rawSpan).prefix(16))
    }

    deinit {
        resource.close()
    }

    /// Returns the response to GET or HEAD: whole, in parts, or not modified.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - fields: additional header fields.
    /// - Returns: 200, 206, 304, 412 or 416.
    /// - Throws: ``ResourceError``.
    func response(to request: HTTPRequest, _ fields: HTTPFields) async throws -> HTTPResponse {
        if let packed = try await packed(request, fields) { return packed }
        let length = try await resource.length()
        var fields = fields
        if resource is any PackedResource { Self.addVary(&fields) }
        return .serving(
            Representation(length: length, contentType: mediaType, etag: EntityTag(tag).description) { [self] range in body(range)
            },
            for: request,
            headers: fields
        )
    }

    private func body(_ range: Range<Int64>) -> ResponseBody {
        .stream(length: range.count) { [self] writer in
            try await resource.stream(range, pieceSize: Self.pieceSize) { piece in try await writer.write(copy piece) }
        }
    }

    /// The whole resource as compressed in its archive, for clients that accept gzip; nil if it is not compressed.
    private func packed(_ request: HTTPRequest, _ fields: HTTPFields) async throws(ResourceError) -> HTTPResponse? {
        guard request.headers["Range"] == nil, QualityList.takesGzip(request.headers.list("Accept-Encoding")),
            let deflated = try await (resource as? any PackedResource)?.deflated()
        else { return nil }
        let member = GzipMember(deflated)
        var fields = fields
        fields["Content-Encoding"] = "gzip"
        Self.addVary(&fields)
        let length = try await member.length()
        var response = HTTPResponse.serving(
            Representation(length: length, contentType: mediaType, etag: EntityTag(tag + "-gzip").description) { [self] _ in
                .stream(length: Int(length)) { [self] writer in
                    try await member.write(pieceSize: Self.pieceSize) { piece in try await writer.write(piece) }
                    withExtendedLifetime(self) {}
                }
            },
            for: request,
            headers: fields
        )
        // ranges are of the plain bytes
        response.headers["Accept-Ranges"] = nil
        return response
    }

    private static func addVary(_ fields: inout HTTPFields) {
        fields["Vary"] = fields["Vary"].map { "\($0), Accept-Encoding" } ?? "Accept-Encoding"
    }

    /// The media type of the link, or else of its name.
    static func mediaType(of link: Link) -> String {
        if let type = link.mediaType { return type.description }
        let known = [
            "css": "text/css", "html": "text/html", "js": "text/javascript", "json": "application/json", "otf": "font/otf",
            "smil": "application/smil+xml", "svg": "image/svg+xml", "ttf": "font/ttf", "txt": "text/plain", "woff": "font/woff",
            "woff2": "font/woff2", "xhtml": "application/xhtml+xml",
        ]
        let ending = link.path?.fileExtension ?? ""
        return known[ending] ?? Format(fileExtension: ending)?.mediaType.description ?? "application/octet-stream"
    }
}
