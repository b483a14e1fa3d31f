// SPDX-License-Identifier: Apache-2.0

/// The response of a handler.
public struct HTTPResponse: Sendable {
    /// The status code (RFC 9110 §15).
    public var status: HTTPStatus
    /// The fields to send; `Content-Length`, `Transfer-Encoding`, `Date` and `Connection` are the server's.
    public var headers: HTTPFields
    /// The content after the header. Also set for HEAD, where it provides the length and is never read.
    public var body: ResponseBody
    /// Whether a server may compress the body for clients that accept it. Only for bodies that do not mix a secret with text that
    /// a client chose.
    public var isCompressible: Bool

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - headers: the fields to send.
    ///   - body: the content after the header.
    ///   - isCompressible: whether a server may compress the body.
    public init(
        _ status: HTTPStatus = .ok,
        headers: HTTPFields = [:],
        body: ResponseBody = .empty,
        isCompressible: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isCompressible = isCompressible
    }

    /// A status without a body.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - headers: the fields to send.
    /// - Returns: the response.
    public static func empty(_ status: HTTPStatus = .noContent, headers: HTTPFields = [:]) -> HTTPResponse {
        HTTPResponse(status, headers: headers)
    }

    /// Bytes of a media type.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - type: the media type.
    ///   - status: the status.
    ///   - headers: further fields.
    ///   - isCompressible: true if a server may compress the body.
    /// - Returns: the response.
    public static func bytes(
        _ bytes: [UInt8],
        type: String,
        status: HTTPStatus = .ok,
        headers: HTTPFields = [:],
        isCompressible: Bool = false
    ) -> HTTPResponse {
        var response = HTTPResponse(status, headers: headers, body: .bytes(bytes), isCompressible: isCompressible)
        response.headers["Content-Type"] = type
        return response
    }

    /// `text/plain` in UTF-8.
    ///
    /// - Parameters:
    ///   - text: the body.
    ///   - status: the status.
    ///   - headers: further fields.
    /// - Returns: the response.
    public static func text(_ text: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]) -> HTTPResponse {
        bytes(Array(text.utf8), type: "text/plain; charset=utf-8", status: status, headers: headers, isCompressible: true)
    }

    /// `application/json`, already written.
    ///
    /// - Parameters:
    ///   - json: the body.
    ///   - status: the status.
    ///   - headers: further fields.
    /// - Returns: the response.
    public static func json(_ json: [UInt8], status: HTTPStatus = .ok, headers: HTTPFields = [:]) -> HTTPResponse {
        bytes(json, type: "application/json", status: status, headers: headers, isCompressible: true)
    }

    /// `text/html` in UTF-8.
    ///
    /// - Parameters:
    ///   - html: the body.
    ///   - status: the status.
    ///   - headers: further fields.
    /// - Returns: the response.
    public static func html(_ html: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]) -> HTTPResponse {
        bytes(Array(html.utf8), type: "text/html; charset=utf-8", status: status, headers: headers, isCompressible: true)
    }

    /// Sends the client elsewhere: 303 after a form, 307 or 308 where the method must stay.
    ///
    /// - Parameters:
    ///   - location: the address, absolute or relative.
    ///   - status: the status.
    /// - Returns: the response.
    public static func redirect(to location: String, status: HTTPStatus = .seeOther) -> HTTPResponse {
        HTTPResponse(status, headers: ["Location": location])
    }
}
