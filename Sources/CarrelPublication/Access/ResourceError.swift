/// Why a resource of a publication cannot be read: a stable code, and words for a person.
///
/// Two errors are equal when their codes are.
public struct ResourceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `resource.forbidden`.
        public let identifier: String

        public init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// There is no such resource.
        public static let notFound = Code("resource.not-found")
        /// The publication is restricted, or whoever holds the resource refuses it to this reader.
        public static let forbidden = Code("resource.forbidden")
        /// It cannot be read now: the network, the disk, or a fetcher that was closed meanwhile. Another time it may be.
        public static let unavailable = Code("resource.unavailable")
        /// Its bytes are not what their format says they must be.
        public static let malformed = Code("resource.malformed")
        /// The key does not fit, or the encrypted bytes were cut or changed.
        public static let decryption = Code("resource.decryption")
        /// It asks for more memory or room than it may have.
        public static let tooLarge = Code("resource.too-large")
        /// The task that read was cancelled.
        public static let cancelled = Code("resource.cancelled")
    }

    public let code: Code
    /// A lower-case sentence without a period; never content of the resource, nor a secret.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public static func == (a: Self, b: Self) -> Bool { a.code == b.code }

    public var description: String { "\(message) (\(code))" }
}
