/// Why a playlist cannot be written: a value that its syntax has no place for.
public struct PlaylistError: Error, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, HTTP problems and documents, such as `hls.quoted-string`.
        public let identifier: String

        /// A quoted string holds a quotation mark, a line break or another control character (RFC 8216 §4.2).
        public static let quotedString = Code(identifier: "hls.quoted-string")
        /// A URI is empty, holds blanks or control characters, or begins like a tag (§4.1).
        public static let uri = Code(identifier: "hls.uri")
        /// The playlist contradicts itself.
        public static let contradiction = Code(identifier: "hls.contradiction")

        public var description: String { identifier }
    }

    public let code: Code
    private let text: String

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    public var description: String { text }

    public static func == (a: PlaylistError, b: PlaylistError) -> Bool { a.code == b.code }
}
