/// Why a signed object is not to be believed. Never holds what is in it.
public struct JOSEError: Error, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, HTTP problems and documents, such as `jose.signature`.
        public let description: String

        /// The text is no signed object in the compact form, or too long.
        public static let malformed = Code(description: "jose.malformed")
        /// It is signed in a way that is not accepted, or not signed.
        public static let algorithm = Code(description: "jose.algorithm")
        /// No key is known that could have signed it.
        public static let key = Code(description: "jose.key")
        /// The signature is not of this text and this key.
        public static let signature = Code(description: "jose.signature")
        /// Its certificates do not lead to a trusted one.
        public static let certificate = Code(description: "jose.certificate")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let description: String

    package init(_ code: Code, _ description: String = "") {
        self.code = code
        self.description = description
    }

    public static func == (a: JOSEError, b: JOSEError) -> Bool { a.code == b.code }
}
