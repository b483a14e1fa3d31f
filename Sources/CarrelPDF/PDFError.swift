/// Why a PDF document cannot be read: a stable code, and words for a person.
///
/// Two errors are equal when their codes are.
public struct PDFError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `pdf.damaged`.
        public let identifier: String

        public init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// It is not what ISO 32000 says a PDF document is, and could not be repaired.
        public static let damaged = Code("pdf.damaged")
        /// It needs a password, and the one that was given is not it.
        public static let password = Code("pdf.password")
        /// It is encrypted in a way that is not supported.
        public static let unsupported = Code("pdf.unsupported")
        /// It asks for more work than it may have.
        public static let tooLarge = Code("pdf.too-large")
        /// The disk or the memory failed.
        public static let unavailable = Code("pdf.unavailable")
        /// Nobody wants to know any more.
        public static let cancelled = Code("pdf.cancelled")
    }

    public let code: Code
    /// A lower-case sentence without a period; never content of the document, nor a password.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static let cancelled = PDFError(.cancelled, "reading the document was cancelled")

    public static func == (a: Self, b: Self) -> Bool { a.code == b.code }

    public var description: String { "\(message) (\(code))" }
}
