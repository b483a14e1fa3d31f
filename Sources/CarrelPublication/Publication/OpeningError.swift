extension Publication {
    /// Why a publication cannot be opened: a stable code, and words for a person.
    ///
    /// Two errors are equal when their codes are.
    public struct OpeningError: Error, Equatable, Sendable, CustomStringConvertible {
        /// What kind of failure it is. The set grows: always handle codes you do not know.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A dotted name that never changes, such as `opening.incorrect-credentials`.
            public let identifier: String

            public init(_ identifier: String) {
                self.identifier = identifier
            }

            public var description: String { identifier }

            /// No parser takes this kind of file.
            public static let unsupportedFormat = Code("opening.unsupported-format")
            public static let notFound = Code("opening.not-found")
            /// The file is not what it says it is.
            public static let parsingFailed = Code("opening.parsing-failed")
            /// Whoever holds the publication does not let this reader open it.
            public static let forbidden = Code("opening.forbidden")
            /// It cannot be opened now: the network or the disk. Another time it may be.
            public static let unavailable = Code("opening.unavailable")
            /// A password is missing or wrong, and nothing can be read without it.
            public static let incorrectCredentials = Code("opening.incorrect-credentials")
            /// Who was asked for credentials did not want to give them.
            public static let cancelled = Code("opening.cancelled")
        }

        public let code: Code
        /// A lower-case sentence without a period; never a secret.
        public let message: String

        public init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        /// A resource without which there is no publication could not be read.
        public init(_ error: ResourceError) {
            switch error.code {
            case .notFound: self.init(.notFound, error.message)
            case .forbidden: self.init(.forbidden, error.message)
            case .unavailable: self.init(.unavailable, error.message)
            case .cancelled: self.init(.cancelled, error.message)
            default: self.init(.parsingFailed, error.message)
            }
        }

        public static func == (a: Self, b: Self) -> Bool { a.code == b.code }

        public var description: String { "\(message) (\(code))" }
    }
}
