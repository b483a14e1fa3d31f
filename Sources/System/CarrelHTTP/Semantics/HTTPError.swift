// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// A request that ends in an error: what a problem document says (RFC 9457).
public struct HTTPError: Error, Sendable, CustomStringConvertible {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<HTTPError>

    /// The value of a member of the problem document.
    public enum Value: Sendable, Equatable {
        /// A JSON string.
        case text(String)
        /// A JSON number.
        case number(Int64)
    }

    /// The status of the response.
    public var status: HTTPStatus
    /// The kind of failure: the same in logs, problem documents and documentation.
    public let code: Code
    /// The code of earlier versions, which problem documents hold next to ``code`` until the next major version; nil if there is none.
    public let alias: String?
    /// The URI of the kind of problem (RFC 9457 §3.1.1), by the ``alias`` if there is one and the code otherwise: `about:blank` for the
    /// prefix `http.`, or `urn:carrel:problem:CODE`. Set it for a type that another specification defines.
    public var type: String
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
    ///   - code: the kind of failure; one of an earlier version becomes the alias of the one that is kept.
    ///   - detail: a lower-case sentence without a period and without secrets.
    ///   - title: the kind of problem.
    ///   - extra: more members of the problem document.
    ///   - headers: fields for the response.
    public init(
        _ status: HTTPStatus,
        _ code: Code,
        _ detail: String? = nil,
        title: String? = nil,
        extra: [(String, Value)] = [],
        headers: HTTPFields = [:]
    ) {
        self.status = status
        let replacement = RenamedCodes.replacements[code.identifier]
        self.code = replacement.map { Code($0) } ?? code
        alias = replacement == nil ? RenamedCodes.aliases[code.identifier] : code.identifier
        let first = alias ?? code.identifier
        type = first.hasPrefix("http.") ? "about:blank" : "urn:carrel:problem:\(first)"
        self.detail = detail
        self.title = title
        self.extra = extra
        self.headers = headers
    }

    /// Creates an error with a code that is written where it is thrown.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - code: the identifier of the code, such as `order.expired`.
    ///   - detail: a lower-case sentence without a period and without secrets.
    ///   - title: what kind of problem it is.
    ///   - extra: more members of the problem document.
    ///   - headers: fields for the response.
    public init(
        _ status: HTTPStatus,
        _ code: StaticString,
        _ detail: String? = nil,
        title: String? = nil,
        extra: [(String, Value)] = [],
        headers: HTTPFields = [:]
    ) {
        self.init(status, Code("\(code)"), detail, title: title, extra: extra, headers: headers)
    }

    /// The detail, or the status' own phrase: a lower-case sentence without a period.
    public var message: String { detail ?? status.reason.lowercased() }

    public var description: String { "\(message) (\(code))" }
}

/// An error of another module that knows which HTTP problem it is.
public protocol HTTPProblemConvertible: Error {
    /// The problem reported to the client.
    var problem: HTTPError { get }
    /// Whether the server logs it as a failure of its own; by default, if the status is 500 or more.
    var isFailure: Bool { get }
}

extension HTTPProblemConvertible {
    public var isFailure: Bool { problem.status.rawValue >= 500 }
}
