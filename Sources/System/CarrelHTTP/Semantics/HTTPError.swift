// SPDX-License-Identifier: Apache-2.0

/// An error response, with the content of a problem document (RFC 9457).
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

    /// - Parameters:
    ///   - status: the status of the response.
    ///   - code: the stable dotted identifier.
    ///   - detail: a lower-case sentence without a period and without secrets.
    ///   - title: the kind of problem.
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

    /// Retired codes, with the codes that replace them.
    private static let retired = [
        "http.notFound": "request.not-found", "http.otherOrigin": "request.other-origin", "http.mediaType": "request.media-type",
        "http.bodyTooLarge": "request.too-large",
    ]
}

/// An error of another module that knows which HTTP problem it is.
public protocol HTTPProblemConvertible: Error {
    /// The problem reported to the client.
    var problem: HTTPError { get }
}
