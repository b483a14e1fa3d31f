public import CarrelBytes

/// Why a device, a token or a license was not accepted, or a right was not granted. Never holds a key, a token or what one contains.
public struct RightsError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<RightsError>

    /// The kind of failure; errors with the same code are equal.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String

    package init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}

extension ErrorCode where Failure == RightsError {
    /// A message cannot be read, or is not of the kind that is expected.
    public static var malformed: Self { Self("rights.malformed") }
    /// A message is not signed by who must sign it, or was altered.
    public static var signature: Self { Self("rights.signature") }
    /// A key is of a kind that is not taken, or is not proved to be the sender's.
    public static var key: Self { Self("rights.key") }
    /// A token is forged, for another service, or not readable.
    public static var token: Self { Self("rights.token") }
    /// A token or a message is no longer valid, or not yet.
    public static var expired: Self { Self("rights.expired") }
    /// A text is not a compound URL, or too long; its parts have codes of their own.
    public static var url: Self { Self("rights.url") }
}
