/// Why a request has no response. Never holds credentials, header values or the path and query of a URL.
public struct HTTPClientError: Error, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, HTTP problems and documents, such as `client.timeout`.
        public let identifier: String

        /// The URL is not an absolute http or https URL.
        public static let url = Code(identifier: "client.url")
        /// A field to send has a bad name or value, or is one that the client writes itself.
        public static let header = Code(identifier: "client.header")
        /// The host has no address.
        public static let resolve = Code(identifier: "client.resolve")
        /// No connection could be made.
        public static let refused = Code(identifier: "client.refused")
        /// The host's addresses are none that the configuration allows.
        public static let address = Code(identifier: "client.address")
        /// The time to connect, the total time or the time without progress is over.
        public static let timeout = Code(identifier: "client.timeout")
        /// The server's certificate was not accepted, or no encrypted connection came about.
        public static let tls = Code(identifier: "client.tls")
        /// The response is longer than the request allows.
        public static let tooLarge = Code(identifier: "client.tooLarge")
        /// The response's status line or fields are not well-formed or too long.
        public static let head = Code(identifier: "client.head")
        /// The connection broke, or the response ended, in the middle.
        public static let interrupted = Code(identifier: "client.interrupted")
        /// A redirect cannot be followed: too many, to where it must not lead, or with a body that cannot be sent again.
        public static let redirect = Code(identifier: "client.redirect")
        /// The server did not answer with the byte range that was needed.
        public static let range = Code(identifier: "client.range")
        /// The body to send failed, or is not as long as was said.
        public static let body = Code(identifier: "client.body")
        /// What was received could not be written to the file.
        public static let write = Code(identifier: "client.write")
        /// The task was cancelled, or the stream was.
        public static let cancelled = Code(identifier: "client.cancelled")
        /// libcurl failed for another reason, such as want of memory.
        public static let failed = Code(identifier: "client.failed")

        public var description: String { identifier }
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let description: String

    /// - Parameters:
    ///   - code: all that equality compares.
    ///   - description: a lower-case sentence without a period, without secrets.
    public init(_ code: Code, _ description: String = "") {
        self.code = code
        self.description = description
    }

    public static func == (a: HTTPClientError, b: HTTPClientError) -> Bool { a.code == b.code }
}
