/// Why a right could not be counted: a stable code, and words for a person.
///
/// Whoever gets one forbids what was asked. Two errors are equal when their codes are.
public struct UserRightsError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `rights.unavailable`.
        public let identifier: String

        public init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// The amount is negative.
        public static let invalidAmount = Code("rights.invalid-amount")
        /// The identifier of the request was used before, for something else.
        public static let differentRequest = Code("rights.different-request")
        /// The store cannot be read or written, or holds what it should not.
        public static let unavailable = Code("rights.unavailable")
        /// The database lacks a table or a column: its app did not add a migration.
        public static let migration = Code("rights.migration")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public static func == (a: Self, b: Self) -> Bool { a.code == b.code }

    public var description: String { "\(message) (\(code))" }
}
