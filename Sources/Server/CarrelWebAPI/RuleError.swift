// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP

/// A refusal by a rule of a capability: what the rule found, without HTTP. The router responds with its ``problem``.
package struct RuleError: CodedError, HTTPProblemConvertible {
    /// The cause of a refusal, which decides the status of the response.
    package enum Kind: Sendable {
        case invalid, unauthenticated, forbidden, notFound, conflict, gone, tooLarge, throttled, unavailable
    }

    /// The cause.
    package let kind: Kind
    /// The stable identifier.
    package let code: ErrorCode<RuleError>
    /// A lower-case sentence without a period and without secrets: what happened, and what to do.
    package let message: String
    /// Further members of the problem document.
    package let facts: [(String, HTTPError.Value)]
    /// Seconds after which a retry may succeed; nil if unknown.
    package let retryAfter: Int64?

    /// - Parameters:
    ///   - kind: the cause.
    ///   - code: the stable dotted identifier.
    ///   - message: a lower-case sentence without a period and without secrets.
    ///   - facts: further members of the problem document.
    ///   - retryAfter: seconds after which a retry may succeed; nil if unknown.
    package init(
        _ kind: Kind,
        _ code: String,
        _ message: String,
        facts: [(String, HTTPError.Value)] = [],
        retryAfter: Int64? = nil
    ) {
        self.kind = kind
        self.code = ErrorCode(code)
        self.message = message
        self.facts = facts
        self.retryAfter = retryAfter
    }

    package var problem: HTTPError { problem(headers: [:]) }
    /// False: a refusal is what the rule is for, also with 503.
    package var isFailure: Bool { false }

    /// The problem of the response.
    ///
    /// - Parameter headers: fields that the route adds, such as a challenge.
    /// - Returns: the problem with the status of the ``kind``.
    package func problem(headers: HTTPFields) -> HTTPError {
        var headers = headers
        if let retryAfter { headers["Retry-After"] = String(retryAfter) }
        return HTTPError(status, HTTPError.Code(code.identifier), message, extra: facts, headers: headers)
    }

    private var status: HTTPStatus {
        switch kind {
        case .invalid: .badRequest
        case .unauthenticated: .unauthorized
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .conflict: .conflict
        case .gone: .gone
        case .tooLarge: .contentTooLarge
        case .throttled: .tooManyRequests
        case .unavailable: .serviceUnavailable
        }
    }
}
