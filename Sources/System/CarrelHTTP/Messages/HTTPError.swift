// SPDX-License-Identifier: Apache-2.0

/// A request that ends in an error: what a problem document says (RFC 9457).
public struct HTTPError: Error, Sendable, CustomStringConvertible {
    /// The value of a member of the problem document.
    public enum Value: Sendable, Equatable {
        /// A JSON string.
        case text(String)
        /// A JSON number.
        case number(Int64)
    }

    /// The status of the response.
    public var status: HTTPStatus
    /// A stable dotted identifier, such as `order.expired`: the same in logs, problem documents and docs.
    public let code: String
    /// The code of earlier versions, which problem documents have next to ``code`` until the next major version.
    public let alias: String?
    /// The URI of the kind of problem (RFC 9457 §3.1.1): `about:blank` for HTTP's own problems and for problems with an
    /// ``alias``, which had it before; `urn:carrel:problem:CODE` for ours.
    public let type: String
    /// The kind of problem; nil means the status' own phrase.
    public var title: String?
    /// This occurrence and what to do: a lower-case sentence without a period and without secrets.
    public var detail: String?
    /// More members of the problem document, such as a reason.
    public var extra: [(String, Value)]
    /// Fields for the response, such as `Retry-After`.
    public var headers: HTTPFields

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - code: the stable dotted identifier.
    ///   - detail: a lower-case sentence without a period and without secrets.
    ///   - title: what kind of problem it is.
    ///   - extra: more members of the problem document.
    ///   - headers: fields for the response.
    public init(
        _ status: HTTPStatus,
        _ code: String,
        _ detail: String? = nil,
        title: String? = nil,
        extra: [(String, Value)] = [],
        headers: HTTPFields = [:]
    ) {
        self.status = status
        let kept = Self.retired[code]
        self.code = kept ?? code
        alias = kept == nil ? nil : code
        type = code.hasPrefix("http.") ? "about:blank" : "urn:carrel:problem:\(code)"
        self.detail = detail
        self.title = title
        self.extra = extra
        self.headers = headers
    }

    /// The detail, or the status' own phrase: a lower-case sentence without a period.
    public var message: String { detail ?? status.reason.lowercased() }

    public var description: String { "\(message) (\(code))" }

    /// Codes that said what another one says, with the one that is kept.
    private static let retired = [
        "http.notFound": "request.not-found", "http.otherOrigin": "request.other-origin", "http.mediaType": "request.media-type",
        "http.bodyTooLarge": "request.too-large",
    ]

    /// The error as `application/problem+json`, with the request's id so that a person can name it (left out when empty).
    ///
    /// - Parameter requestID: the request's id.
    /// - Returns: the response.
    public func response(requestID: String) -> HTTPResponse {
        var text = "{"
        func add(_ name: String, _ value: String) {
            if text.utf8.count > 1 { text += "," }
            text += "\(Self.quoted(name)):\(value)"
        }
        add("type", Self.quoted(type))
        add("title", Self.quoted(title ?? status.reason))
        add("status", String(status.rawValue))
        if let detail { add("detail", Self.quoted(detail)) }
        add("code", Self.quoted(code))
        if let alias { add("alias", Self.quoted(alias)) }
        for (name, value) in extra {
            switch value {
            case .text(let text): add(name, Self.quoted(text))
            case .number(let number): add(name, String(number))
            }
        }
        if !requestID.isEmpty { add("requestId", Self.quoted(requestID)) }
        text += "}\n"
        var response = HTTPResponse(status, headers: headers, body: .bytes(Array(text.utf8)))
        response.headers["Content-Type"] = "application/problem+json"
        response.headers.setDefault("Cache-Control", "no-store")
        return response
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\u{0}"..."\u{1f}":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

/// An error of another module that knows which HTTP problem it is.
public protocol HTTPProblemConvertible: Error {
    /// The problem that a client is told.
    var problem: HTTPError { get }
}
