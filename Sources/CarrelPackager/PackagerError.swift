/// Why a segment or playlist could not be made.
public struct PackagerError: Error, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, HTTP problems and documents, such as `packager.no-segment`.
        public let identifier: String

        /// The title has no segment of that number.
        public static let noSegment = Code(identifier: "packager.no-segment")
        /// The stored media ends before the segment does.
        public static let mediaTruncated = Code(identifier: "packager.media-truncated")
        /// The stored media is not what the index says: frames are damaged, or the index belongs to other media.
        public static let mediaDamaged = Code(identifier: "packager.media-damaged")
        /// A segment is read on after it failed.
        public static let failedBefore = Code(identifier: "packager.failed-before")
        /// A content key does not have 16 bytes.
        public static let key = Code(identifier: "packager.key")
        /// The URI of a key holds characters that a playlist has no place for.
        public static let keyURI = Code(identifier: "packager.key-uri")
        /// A ticket does not have the 28 characters that playlists have room for.
        public static let ticket = Code(identifier: "packager.ticket")

        public var description: String { identifier }
    }

    public let code: Code
    private let text: String

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    public var description: String { text }

    public static func == (a: PackagerError, b: PackagerError) -> Bool { a.code == b.code }
}
