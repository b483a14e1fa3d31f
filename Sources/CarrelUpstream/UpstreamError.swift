/// Why a system upstream gave no answer. Never holds a token, a password or what the system said.
public struct UpstreamError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable dotted identifier.
        public let description: String

        /// An address cannot be used: no http or https URL, cleartext beyond this machine, or an unknown placeholder.
        public static let address = Code(description: "upstream.address")
        /// No connection, or none that lasted; or the time was over.
        public static let unreachable = Code(description: "upstream.unreachable")
        /// The answer's status is not 2xx, a redirect among them.
        public static let status = Code(description: "upstream.status")
        /// The status is 2xx, and the body is no answer to the call.
        public static let answer = Code(description: "upstream.answer")
        /// The answer is signed by nobody we know, or not meant for us, or not for this sign-in.
        public static let untrusted = Code(description: "upstream.untrusted")
        /// The system does not have the call.
        public static let unsupported = Code(description: "upstream.unsupported")
        /// The caller gave up waiting.
        public static let cancelled = Code(description: "upstream.cancelled")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let detail: String
    /// The HTTP status, where there was one.
    public let status: Int?

    package init(_ code: Code, _ detail: String, status: Int? = nil) {
        self.code = code
        self.detail = detail
        self.status = status
    }

    /// Errors are equal when their codes are.
    public static func == (a: UpstreamError, b: UpstreamError) -> Bool { a.code == b.code }

    public var description: String { "\(detail) (\(code))" }

    /// Whether the system itself is in trouble, rather than this one request.
    public var isOutage: Bool {
        switch code {
        case .unreachable, .answer: true
        case .status: status.map { $0 >= 500 || $0 == 429 } ?? true
        default: false
        }
    }
}
