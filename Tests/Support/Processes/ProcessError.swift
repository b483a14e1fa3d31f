/// A process that could not be run to its end as asked.
public struct ProcessError: Error, Equatable, CustomStringConvertible {
    /// Which failure, as a stable dotted identifier.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The system refused to start it.
        public static let notStarted = Code(rawValue: "process.notStarted")
        /// It was still running when its time was up.
        public static let timeout = Code(rawValue: "process.timeout")
        /// It wrote more than the limit.
        public static let tooMuchOutput = Code(rawValue: "process.tooMuchOutput")
        /// It ended before it did what was waited for.
        public static let ended = Code(rawValue: "process.ended")
        /// The waiting task was cancelled.
        public static let cancelled = Code(rawValue: "process.cancelled")
    }

    public let code: Code
    /// A lower-case sentence without a period: which program, and what it last wrote.
    public let description: String

    /// - Parameters:
    ///   - code: all that equality compares.
    ///   - description: a lower-case sentence without a period.
    public init(_ code: Code, _ description: String = "") {
        self.code = code
        self.description = description
    }

    public static func == (a: ProcessError, b: ProcessError) -> Bool { a.code == b.code }
}
