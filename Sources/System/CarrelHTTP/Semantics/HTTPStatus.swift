// SPDX-License-Identifier: Apache-2.0

/// A status code (RFC 9110 §15).
public struct HTTPStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The three-digit number.
    public let rawValue: Int

    /// - Parameter rawValue: the three-digit number.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// 200 OK (RFC 9110 §15.3.1).
    public static let ok = HTTPStatus(rawValue: 200)
    /// 201 Created (RFC 9110 §15.3.2).
    public static let created = HTTPStatus(rawValue: 201)
    /// 202 Accepted (RFC 9110 §15.3.3).
    public static let accepted = HTTPStatus(rawValue: 202)
    /// 204 No Content (RFC 9110 §15.3.5).
    public static let noContent = HTTPStatus(rawValue: 204)
    /// 206 Partial Content (RFC 9110 §15.3.7).
    public static let partialContent = HTTPStatus(rawValue: 206)
    /// 207 Multi-Status (RFC 4918 §11.1).
    public static let multiStatus = HTTPStatus(rawValue: 207)
    /// 301 Moved Permanently (RFC 9110 §15.4.2).
    public static let movedPermanently = HTTPStatus(rawValue: 301)
    /// 302 Found (RFC 9110 §15.4.3).
    public static let found = HTTPStatus(rawValue: 302)
    /// 303 See Other (RFC 9110 §15.4.4).
    public static let seeOther = HTTPStatus(rawValue: 303)
    /// 304 Not Modified (RFC 9110 §15.4.5).
    public static let notModified = HTTPStatus(rawValue: 304)
    /// 307 Temporary Redirect (RFC 9110 §15.4.8).
    public static let temporaryRedirect = HTTPStatus(rawValue: 307)
    /// 308 Permanent Redirect (RFC 9110 §15.4.9).
    public static let permanentRedirect = HTTPStatus(rawValue: 308)
    /// 400 Bad Request (RFC 9110 §15.5.1).
    public static let badRequest = HTTPStatus(rawValue: 400)
    /// 401 Unauthorized (RFC 9110 §15.5.2).
    public static let unauthorized = HTTPStatus(rawValue: 401)
    /// 403 Forbidden (RFC 9110 §15.5.4).
    public static let forbidden = HTTPStatus(rawValue: 403)
    /// 404 Not Found (RFC 9110 §15.5.5).
    public static let notFound = HTTPStatus(rawValue: 404)
    /// 405 Method Not Allowed (RFC 9110 §15.5.6).
    public static let methodNotAllowed = HTTPStatus(rawValue: 405)
    /// 406 Not Acceptable (RFC 9110 §15.5.7).
    public static let notAcceptable = HTTPStatus(rawValue: 406)
    /// 408 Request Timeout (RFC 9110 §15.5.9).
    public static let requestTimeout = HTTPStatus(rawValue: 408)
    /// 409 Conflict (RFC 9110 §15.5.10).
    public static let conflict = HTTPStatus(rawValue: 409)
    /// 410 Gone (RFC 9110 §15.5.11).
    public static let gone = HTTPStatus(rawValue: 410)
    /// 411 Length Required (RFC 9110 §15.5.12).
    public static let lengthRequired = HTTPStatus(rawValue: 411)
    /// 412 Precondition Failed (RFC 9110 §15.5.13).
    public static let preconditionFailed = HTTPStatus(rawValue: 412)
    /// 413 Content Too Large (RFC 9110 §15.5.14).
    public static let contentTooLarge = HTTPStatus(rawValue: 413)
    /// 414 URI Too Long (RFC 9110 §15.5.15).
    public static let uriTooLong = HTTPStatus(rawValue: 414)
    /// 415 Unsupported Media Type (RFC 9110 §15.5.16).
    public static let unsupportedMediaType = HTTPStatus(rawValue: 415)
    /// 416 Range Not Satisfiable (RFC 9110 §15.5.17).
    public static let rangeNotSatisfiable = HTTPStatus(rawValue: 416)
    /// 417 Expectation Failed (RFC 9110 §15.5.18).
    public static let expectationFailed = HTTPStatus(rawValue: 417)
    /// 421 Misdirected Request (RFC 9110 §15.5.20).
    public static let misdirectedRequest = HTTPStatus(rawValue: 421)
    /// 422 Unprocessable Content (RFC 9110 §15.5.21).
    public static let unprocessableContent = HTTPStatus(rawValue: 422)
    /// 428 Precondition Required (RFC 6585 §3).
    public static let preconditionRequired = HTTPStatus(rawValue: 428)
    /// 429 Too Many Requests (RFC 6585 §4).
    public static let tooManyRequests = HTTPStatus(rawValue: 429)
    /// 431 Request Header Fields Too Large (RFC 6585 §5).
    public static let headerFieldsTooLarge = HTTPStatus(rawValue: 431)
    /// Never sent: the status in the log if the client hung up before the response.
    public static let clientClosedRequest = HTTPStatus(rawValue: 499)
    /// 500 Internal Server Error (RFC 9110 §15.6.1).
    public static let internalServerError = HTTPStatus(rawValue: 500)
    /// 501 Not Implemented (RFC 9110 §15.6.2).
    public static let notImplemented = HTTPStatus(rawValue: 501)
    /// 502 Bad Gateway (RFC 9110 §15.6.3).
    public static let badGateway = HTTPStatus(rawValue: 502)
    /// 503 Service Unavailable (RFC 9110 §15.6.4).
    public static let serviceUnavailable = HTTPStatus(rawValue: 503)
    /// 504 Gateway Timeout (RFC 9110 §15.6.5).
    public static let gatewayTimeout = HTTPStatus(rawValue: 504)
    /// 505 HTTP Version Not Supported (RFC 9110 §15.6.6).
    public static let httpVersionNotSupported = HTTPStatus(rawValue: 505)
    /// 507 Insufficient Storage (RFC 4918 §11.5).
    public static let insufficientStorage = HTTPStatus(rawValue: 507)

    /// The registered phrase, such as `Not Found`; `Status NNN` for a code without a phrase.
    public var reason: String { Self.reasons[rawValue] ?? "Status \(rawValue)" }

    /// Whether a response with this code never has a body (RFC 9110 §6.4.1).
    public var forbidsBody: Bool { rawValue < 200 || rawValue == 204 || rawValue == 304 }

    public var description: String { "\(rawValue) \(reason)" }

    private static let reasons: [Int: String] = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 207: "Multi-Status",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
        412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
        416: "Range Not Satisfiable", 417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content",
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        499: "Client Closed Request",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
    ]
}
