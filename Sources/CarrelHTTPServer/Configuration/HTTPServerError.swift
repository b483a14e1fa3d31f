public import CarrelBytes

/// Why a server does not start.
public struct HTTPServerError: CodedError {
    public typealias Code = ErrorCode<HTTPServerError>

    public let code: Code
    /// What happened and what to do: a lower-case sentence without a period.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == HTTPServerError {
    /// A listener's address is not numeric, or a Unix path is too long.
    public static var address: Self { Self("server.address") }
    /// The system does not let us listen there.
    public static var listen: Self { Self("server.listen") }
    /// The certificate or its key cannot be used.
    public static var tls: Self { Self("server.tls") }
    /// The system refused a thread or a descriptor.
    public static var resources: Self { Self("server.resources") }
}
