// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The reason why a request has no response. Never contains credentials, header values or the path and query of a URL.
public struct HTTPClientError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<HTTPClientError>

    /// A problem of a server's certificate.
    public enum CertificateProblem: Sendable, Hashable {
        /// No trusted authority vouches for it: the server signed it itself, or its time is over.
        case untrusted
        /// It is for another name.
        case otherHost
    }

    /// The kind of failure.
    public let code: Code
    /// The problem of the server's certificate, if it is the cause; nil otherwise.
    public internal(set) var certificateProblem: CertificateProblem?
    /// A lower-case sentence without a period.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: all that equality compares.
    ///   - message: a lower-case sentence without a period, without secrets.
    public init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}

extension ErrorCode where Failure == HTTPClientError {
    /// The URL is not an absolute http or https URL.
    public static var url: Self { Self("client.url") }
    /// A field to send has a bad name or value, or is written by the client itself.
    public static var header: Self { Self("client.header") }
    /// The host has no address.
    public static var resolve: Self { Self("client.resolve") }
    /// No connection could be made.
    public static var refused: Self { Self("client.refused") }
    /// The address rule does not allow the host's addresses.
    public static var address: Self { Self("client.address") }
    /// The time to connect, the total time or the time without progress is over.
    public static var timeout: Self { Self("client.timeout") }
    /// The server's certificate was not accepted, or no encrypted connection came about.
    public static var tls: Self { Self("client.tls") }
    /// The response is longer than the request allows.
    public static var tooLarge: Self { Self("client.tooLarge") }
    /// The response's status line or fields are not well-formed or too long.
    public static var head: Self { Self("client.head") }
    /// The connection broke, or the response ended, in the middle.
    public static var interrupted: Self { Self("client.interrupted") }
    /// A redirect cannot be followed: too many, to a forbidden address, or with a body that cannot be sent again.
    public static var redirect: Self { Self("client.redirect") }
    /// The server did not answer with the byte range that was needed.
    public static var range: Self { Self("client.range") }
    /// The body to send failed, or is not as long as was said.
    public static var body: Self { Self("client.body") }
    /// The received bytes could not be written to the file.
    public static var write: Self { Self("client.write") }
    /// The task was cancelled, or the stream was.
    public static var cancelled: Self { Self("client.cancelled") }
    /// libcurl failed for another reason, such as want of memory.
    public static var failed: Self { Self("client.failed") }
}
