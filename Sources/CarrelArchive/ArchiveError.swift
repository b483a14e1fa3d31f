/// Why an archive, or one of its entries, is refused: a stable code, and words for a person.
///
/// Two errors are equal when their codes are.
public struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of refusal it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `archive.unsafeName`.
        public let identifier: String

        init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// The file cannot be opened or read.
        public static let unreadable = Code("archive.unreadable")
        /// The file is not a ZIP archive.
        public static let notZip = Code("archive.notZip")
        /// The archive or an entry is cut off, or parts of it contradict each other.
        public static let damaged = Code("archive.damaged")
        /// Several volumes, or a compression method other than stored and deflated.
        public static let unsupported = Code("archive.unsupported")
        /// The entry needs a password.
        public static let encrypted = Code("archive.encrypted")
        /// More entries than the limit.
        public static let tooManyEntries = Code("archive.tooManyEntries")
        /// A name that leaves the folder it would be written to, or does not say one place.
        public static let unsafeName = Code("archive.unsafeName")
        /// Two entries of one name.
        public static let duplicateName = Code("archive.duplicateName")
        /// Entries that share bytes of the file.
        public static let overlap = Code("archive.overlap")
        /// The content that came out passes the limit, or is far larger than what it was packed into.
        public static let bomb = Code("archive.bomb")
    }

    /// What kind of refusal it is.
    public let code: Code
    /// What happened: a lower-case sentence without a period. May hold the name of an entry, with odd characters replaced.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public static func == (one: ArchiveError, other: ArchiveError) -> Bool { one.code == other.code }

    public var description: String { "\(message) (\(code))" }
}
