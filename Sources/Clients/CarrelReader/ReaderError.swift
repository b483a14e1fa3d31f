// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelUpstream

/// The reason for a failure of a reader.
public struct ReaderError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<ReaderError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// The provider's reason for a refusal, such as `notentitled`; nil if it gave none.
    public let status: String?
    /// The provider's message for the subscriber.
    public let providerMessage: String?
    /// The reason for a missing response.
    public let upstream: UpstreamError?

    package init(
        _ code: Code,
        _ message: String,
        status: String? = nil,
        providerMessage: String? = nil,
        upstream: UpstreamError? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.providerMessage = providerMessage
        self.upstream = upstream
    }

    static let signedOut = ReaderError(.signedOut, "nobody is signed in")

    static func refused(_ status: String?, _ message: String?) -> ReaderError {
        ReaderError(.refused, "the provider refused", status: status, providerMessage: message)
    }

    static func unavailable(_ error: UpstreamError) -> ReaderError {
        ReaderError(.unavailable, error.message, upstream: error)
    }
}

extension ErrorCode where Failure == ReaderError {
    /// The client is not signed in.
    public static var signedOut: Self { Self("reader.signedOut") }
    /// The provider refused; ``ReaderError/status`` and ``ReaderError/providerMessage`` are its response.
    public static var refused: Self { Self("reader.refused") }
    /// The provider gave no valid response; ``ReaderError/upstream`` has the reason.
    public static var unavailable: Self { Self("reader.unavailable") }
    /// The app's stored data cannot be read or written.
    public static var store: Self { Self("reader.store") }
    /// Nothing can be served at that port.
    public static var server: Self { Self("reader.server") }
    /// The publication is restricted.
    public static var restricted: Self { Self("reader.restricted") }
}
