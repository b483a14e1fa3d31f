// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP

/// The reason why a relay has no response of the license server. Never contains a message, an address's secrets or the server's text.
package struct RelayError: CodedError, HTTPProblemConvertible {
    package let code: ErrorCode<RelayError>
    package let message: String
    /// Seconds after which a retry may succeed; nil if unknown.
    let retryAfter: Int64?

    init(_ code: ErrorCode<RelayError>, _ message: String, retryAfter: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var problem: HTTPError {
        // players of Axinom's service read the text here
        var headers: HTTPFields = ["X-AxDRM-ErrorMessage": message]
        if let retryAfter { headers["Retry-After"] = String(retryAfter) }
        return HTTPError(status, HTTPError.Code(code.identifier), message, headers: headers)
    }

    /// False: a license server that fails is not a failure of this server.
    package var isFailure: Bool { false }

    private var status: HTTPStatus {
        switch code {
        case .message: .forbidden
        case .throttled: .tooManyRequests
        case .unavailable: .serviceUnavailable
        case .timeout: .gatewayTimeout
        default: .badGateway
        }
    }

    /// Whether the license server itself is in trouble.
    var isOutage: Bool { code == .timeout || code == .unreachable || code == .answer }
}

extension ErrorCode where Failure == RelayError {
    /// The license message is missing, not signed with the relay's key, outside its time, or for clients at other addresses.
    package static var message: Self { Self("relay.message") }
    /// There were too many requests from the network.
    package static var throttled: Self { Self("relay.throttled") }
    /// Requests are suspended after failures, or too many run.
    package static var unavailable: Self { Self("relay.unavailable") }
    /// No response in time.
    package static var timeout: Self { Self("relay.timeout") }
    /// No connection, or one that broke.
    package static var unreachable: Self { Self("relay.unreachable") }
    /// A redirect, HTML, or a response that is too long.
    package static var answer: Self { Self("relay.answer") }
}
