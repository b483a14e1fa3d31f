/// Why a cryptographic operation did not happen. Never holds keys, plain text or anything derived from them.
public struct CryptoError: Error, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, HTTP problems and documents, such as `crypto.padding`.
        public let identifier: String

        /// The last block does not end in PKCS#7 padding: the wrong key, or altered cipher text.
        public static let padding = Code(identifier: "crypto.padding")
        /// The input cannot be as long as it is.
        public static let length = Code(identifier: "crypto.length")
        /// A key has a length the algorithm does not have.
        public static let keyLength = Code(identifier: "crypto.key-length")
        /// An initialization vector has a length the algorithm does not have.
        public static let ivLength = Code(identifier: "crypto.iv-length")
        /// The integrity check failed: the wrong key, or altered bytes.
        public static let integrity = Code(identifier: "crypto.integrity")
        /// A public key cannot be read, or is of no accepted kind.
        public static let key = Code(identifier: "crypto.key")
        /// A certificate cannot be read.
        public static let certificate = Code(identifier: "crypto.certificate")
        /// A certificate does not lead to a trusted one, or not at that time.
        public static let untrusted = Code(identifier: "crypto.untrusted")
        /// A signed message cannot be read.
        public static let message = Code(identifier: "crypto.message")
        /// OpenSSL refused, for want of memory or of the algorithm.
        public static let refused = Code(identifier: "crypto.refused")

        public var description: String { identifier }
    }

    /// What went wrong; errors with the same code are equal.
    public let code: Code
    private let text: String

    package init(_ code: Code, _ text: String = "") {
        self.code = code
        self.text = text
    }

    /// A lower-case sentence for people.
    public var description: String { text }

    public static func == (a: CryptoError, b: CryptoError) -> Bool { a.code == b.code }
}
