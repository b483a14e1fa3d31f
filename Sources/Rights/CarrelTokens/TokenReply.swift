// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHTTP
package import CarrelJSON
import CarrelRights

/// The response to a request for a token: status, media type and body, ready to be sent.
package struct TokenReply: Sendable, Hashable {
    package let status: HTTPStatus
    /// The media type, with a charset for text.
    package let contentType: String
    package let body: [UInt8]

    /// The reply to a stream token request: one URL as `text/uri-list` (RFC 2483 §5), without a line break, because clients use
    /// the body verbatim. It is a compound URL if the request named the content, otherwise only the rights location.
    ///
    /// - Parameters:
    ///   - token: the sealed rules.
    ///   - request: the request that they come from.
    ///   - location: the rights service's `https` URL.
    /// - Returns: status 200 and the URL.
    /// - Throws: −2030 if the location is not an `https` URL.
    package static func stream(
        _ token: SealedToken,
        for request: TokenRequest,
        rights location: String
    ) throws(TokenRefusal) -> TokenReply {
        do throws(RightsError) {
            let url: String
            if let contentURL = request.contentURL {
                url = try CompoundURL(rights: location, token: token.text, contentURL: contentURL, scheme: request.scheme)
                    .description
            } else {
                url = try CompoundURL.rightsURL(location, token: token.text, scheme: request.scheme)
            }
            return TokenReply(status: .ok, contentType: "text/uri-list", body: Array(url.utf8))
        } catch {
            throw TokenRefusal(.internalFault, error.message)
        }
    }

    /// A document of the service.
    package static func json(_ value: JSON) -> TokenReply {
        TokenReply(status: .ok, contentType: "application/json", body: value.write())
    }

    /// The reply to a request for an action token.
    package static func actionToken(_ token: ActionToken) -> TokenReply {
        TokenReply(status: .ok, contentType: ActionToken.mediaType, body: token.write())
    }

    /// The reply to a refused request: `{"errorCode","errorMessage"}`, or an HTML page.
    ///
    /// - Parameters:
    ///   - refusal: the reason.
    ///   - format: the requested format (``TokenParameters/errorFormat(of:)``).
    ///   - status: the status; nil for the default of the reason.
    /// - Returns: the status, and the body.
    package static func refusal(
        _ refusal: TokenRefusal,
        as format: TokenParameters.ErrorFormat,
        status: HTTPStatus? = nil
    ) -> TokenReply {
        let status = status ?? HTTPStatus(rawValue: refusal.reason.status)
        switch format {
        case .json:
            let json: JSON = ["errorCode": .integer(refusal.reason.rawValue), "errorMessage": .string(refusal.message)]
            return TokenReply(status: status, contentType: "application/json", body: json.write())
        case .html:
            let title = "Error \(refusal.reason.rawValue)"
            let page = """
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="utf-8"><title>\(title)</title></head>
                <body><h1>\(title)</h1><p>\(escape(refusal.message)).</p><p>\(escape(refusal.reason.recommendation)).</p></body></html>

                """
            return TokenReply(status: status, contentType: "text/html; charset=utf-8", body: Array(page.utf8))
        }
    }

    /// The text without the characters that are markup in HTML.
    private static func escape(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { out, scalar in
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            default: out.unicodeScalars.append(scalar)
            }
        }
    }
}
