// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelJSON
import CarrelWebAPI

/// The document on how to sign in to feeds (Authentication for OPDS 1.0).
package struct AuthenticationDocument: Sendable {
    package let title: String
    /// The server's public base URL; nil: the request's host.
    let publicURL: String?

    package static let mediaType = "application/opds-authentication+json"
    /// The feed of what a reader may read.
    package static let shelfPath = "/opds/v2/shelf"
    package static let shelfRelation = "http://opds-spec.org/shelf"
    package static let path = "/opds/authentication"

    /// A link to the document, for feeds that require signing in.
    package static func link(_ base: String) -> JSON { ["href": .string(base + path), "type": .string(mediaType)] }

    /// Scheme and authority, and perhaps a path, before all of our own paths.
    package func base(of request: HTTPRequest) -> String { publicURL ?? "\(request.scheme)://\(request.authority)" }

    package func json(_ request: HTTPRequest) -> JSON {
        let base = base(of: request)
        return [
            "id": .string(base + Self.path),
            "title": .string(title),
            "description": "Sign in with the name and password of your account.",
            "links": [
                ["rel": "start", "href": .string(base + "/opds/v2"), "type": "application/opds+json"],
                [
                    "rel": .string(Self.shelfRelation), "href": .string(base + Self.shelfPath),
                    "type": "application/opds+json",
                ],
                ["rel": "self", "href": .string(base + Self.path), "type": .string(Self.mediaType)],
            ],
            "authentication": [
                ["type": "http://opds-spec.org/auth/basic", "labels": ["login": "Name", "password": "Password"]]
            ],
        ]
    }

    /// 401 with the document.
    package func challenge(_ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse.json(json(request), status: .unauthorized)
        response.headers["Content-Type"] = Self.mediaType
        response.headers["WWW-Authenticate"] = "Basic realm=\"\(Self.quoted(title))\", charset=\"UTF-8\""
        response.headers["Link"] =
            "<\(base(of: request))\(Self.path)>; rel=\"http://opds-spec.org/auth/document\"; type=\"\(Self.mediaType)\""
        return response
    }

    /// A text as it can stand between quotes in a header field.
    private static func quoted(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.filter { (0x20...0x7e).contains($0.value) && $0 != "\"" && $0 != "\\" })
        )
    }
}
