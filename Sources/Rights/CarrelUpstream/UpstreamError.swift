// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The reason why an upstream system gave no valid response. Never contains a token, a password or the system's own text.
public struct UpstreamError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<UpstreamError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// The HTTP status, if there was a response.
    public let status: Int?

    package init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// Whether the system itself is in trouble, rather than this one request.
    public var isOutage: Bool {
        switch code {
        case .unreachable, .answer: true
        case .status: status.map { $0 >= 500 || $0 == 429 } ?? true
        default: false
        }
    }
}

extension ErrorCode where Failure == UpstreamError {
    /// An address cannot be used: no http or https URL, cleartext beyond this machine, or an unknown placeholder.
    public static var address: Self { Self("upstream.address") }
    /// No connection, or none that lasted; or the time was over.
    public static var unreachable: Self { Self("upstream.unreachable") }
    /// The response's status is not 2xx; redirects are included.
    public static var status: Self { Self("upstream.status") }
    /// The status is 2xx, but the body is not a response to the call.
    public static var answer: Self { Self("upstream.answer") }
    /// The response is signed by an unknown key, or is for another audience or sign-in.
    public static var untrusted: Self { Self("upstream.untrusted") }
    /// The system does not have the call.
    public static var unsupported: Self { Self("upstream.unsupported") }
    /// The caller cancelled the call.
    public static var cancelled: Self { Self("upstream.cancelled") }
}
