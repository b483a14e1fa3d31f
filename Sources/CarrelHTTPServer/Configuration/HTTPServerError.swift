/// Why a server does not start.
public struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable dotted identifier.
        public let description: String

        /// A listener's address is not numeric, or a Unix path is too long.
        public static let address = Code(description: "server.address")
        /// The system does not let us listen there.
        public static let listen = Code(description: "server.listen")
        /// The certificate or its key cannot be used.
        public static let tls = Code(description: "server.tls")
        /// The system refused a thread or a descriptor.
        public static let resources = Code(description: "server.resources")
    }

    public let code: Code
    /// What happened and what to do: a lower-case sentence without a period.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Errors are equal when their codes are.
    public static func == (a: HTTPServerError, b: HTTPServerError) -> Bool { a.code == b.code }

    public var description: String { "\(detail) (\(code))" }
}
