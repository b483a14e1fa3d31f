public import CarrelUpstream

/// Why a reader cannot do what it was asked to.
public struct ReaderError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable dotted identifier.
        public let description: String

        /// Nobody is signed in.
        public static let signedOut = Code(description: "reader.signedOut")
        /// The provider said no; ``ReaderError/status`` and ``ReaderError/message`` are its words.
        public static let refused = Code(description: "reader.refused")
        /// The provider gave no answer; ``ReaderError/upstream`` says why.
        public static let unavailable = Code(description: "reader.unavailable")
        /// What the app keeps cannot be read or written.
        public static let store = Code(description: "reader.store")
        /// Nothing can be served at that port.
        public static let server = Code(description: "reader.server")
        /// The publication is restricted: nobody may read it here.
        public static let restricted = Code(description: "reader.restricted")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let detail: String
    /// The provider's word for why it refused, such as `notentitled`; nil where it had none.
    public let status: String?
    /// What the provider wants its reader to be told.
    public let message: String?
    /// Why there was no answer.
    public let upstream: UpstreamError?

    package init(_ code: Code, _ detail: String, status: String? = nil, message: String? = nil, upstream: UpstreamError? = nil) {
        self.code = code
        self.detail = detail
        self.status = status
        self.message = message
        self.upstream = upstream
    }

    static let signedOut = ReaderError(.signedOut, "nobody is signed in")

    static func refused(_ status: String?, _ message: String?) -> ReaderError {
        ReaderError(.refused, "the provider refused", status: status, message: message)
    }

    static func unavailable(_ error: UpstreamError) -> ReaderError {
        ReaderError(.unavailable, error.detail, upstream: error)
    }

    /// Errors are equal when their codes are.
    public static func == (a: ReaderError, b: ReaderError) -> Bool { a.code == b.code }

    public var description: String { "\(detail) (\(code))" }
}
