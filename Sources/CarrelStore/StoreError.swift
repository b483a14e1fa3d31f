/// What went wrong in a database or a blob store: a stable code, and words for a person.
///
/// Two errors are equal when their codes are. Neither the words nor the code ever hold a bound value or a key.
public struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `store.full`: in logs, problem documents and command-line text.
        public let identifier: String

        package init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// Another writer held the database too long, or too many writes wait. Trying again later helps.
        public static let busy = Code("store.busy")
        /// The disk, a quota or a size limit is full. Nothing was changed; it works again once there is room.
        public static let full = Code("store.full")
        /// The file is not what this program wrote.
        public static let corrupt = Code("store.corrupt")
        /// The database was written by a newer program.
        public static let newer = Code("store.newer")
        /// A migration is missing, or is not the one that was applied.
        public static let migration = Code("store.migration")
        /// A unique or primary key exists already.
        public static let unique = Code("store.constraint.unique")
        /// A row refers to one that does not exist, or is referred to.
        public static let foreignKey = Code("store.constraint.foreign")
        /// A CHECK or NOT NULL rule refused the row.
        public static let check = Code("store.constraint.check")
        /// A blob is shorter than it was, or holds other bytes than its name says.
        public static let damaged = Code("store.damaged")
        /// There is no such blob or file.
        public static let notFound = Code("store.notFound")
        /// The database was closed.
        public static let closed = Code("store.closed")
        /// The database or the disk cannot be reached or does not answer properly.
        public static let unavailable = Code("store.unavailable")
        /// A write was attempted in a read, or where the database takes none.
        public static let readOnly = Code("store.readOnly")
        /// A column holds another type than the code expects.
        public static let type = Code("store.type")
        /// The statement is wrong, or the values do not fit it: a mistake in the program.
        public static let statement = Code("store.statement")
        /// A text holds U+0000, which no engine keeps.
        public static let text = Code("store.text")
        /// This engine cannot do what was asked.
        public static let unsupported = Code("store.unsupported")
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened: a lower-case sentence without a period.
    public let message: String

    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - message: a lower-case sentence without a period, and without values or keys.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public static func == (one: StoreError, other: StoreError) -> Bool {
        one.code == other.code
    }

    public var description: String { "\(message) (\(code))" }

    /// Whether the code is one of `store.constraint.…`.
    public var isConstraint: Bool { code == .unique || code == .foreignKey || code == .check }
}
