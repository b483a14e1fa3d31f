public import CarrelBytes

/// Why a playlist cannot be written: a value that its syntax has no place for.
public struct PlaylistError: CodedError {
    public typealias Code = ErrorCode<PlaylistError>

    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}

extension ErrorCode where Failure == PlaylistError {
    /// A quoted string holds a quotation mark, a line break or another control character (RFC 8216 §4.2).
    public static var quotedString: Self { Self("hls.quoted-string") }
    /// A URI is empty, holds blanks or control characters, or begins like a tag (§4.1).
    public static var uri: Self { Self("hls.uri") }
    /// The playlist contradicts itself.
    public static var contradiction: Self { Self("hls.contradiction") }
}
