/// A command line that does not say what to do: an unknown word, a missing or impossible value.
public struct UsageError: ReportableError, Equatable {
    /// What kind of mistake it was.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable dotted identifier, such as `usage.unknown-option`.
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// No command has this name.
        public static let unknownCommand = Code(rawValue: "usage.unknown-command")
        /// A group of commands was called without one of them.
        public static let missingCommand = Code(rawValue: "usage.missing-command")
        /// The command has no such option.
        public static let unknownOption = Code(rawValue: "usage.unknown-option")
        /// An option that counts once is written twice.
        public static let repeatedOption = Code(rawValue: "usage.repeated-option")
        /// An option that takes a value has none.
        public static let missingValue = Code(rawValue: "usage.missing-value")
        /// A flag was given a value.
        public static let unexpectedValue = Code(rawValue: "usage.unexpected-value")
        /// A value is not one of its type, or not allowed.
        public static let badValue = Code(rawValue: "usage.bad-value")
        /// Something that must be written is not.
        public static let missingArgument = Code(rawValue: "usage.missing-argument")
        /// A word is left over.
        public static let unexpectedArgument = Code(rawValue: "usage.unexpected-argument")
        /// Two parameters cannot both be meant.
        public static let contradiction = Code(rawValue: "usage.contradiction")
    }

    /// What kind of mistake it was; errors are equal when it is.
    public let code: Code
    public let message: String
    public let hint: String?

    /// - Parameters:
    ///   - code: what kind of mistake it was.
    ///   - message: a lower-case sentence without a period; never a secret.
    ///   - hint: what to write instead; without it the reader is pointed at the command's help.
    public init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    public var exitStatus: ExitStatus { .usage }

    public static func == (left: UsageError, right: UsageError) -> Bool { left.code == right.code }
}
