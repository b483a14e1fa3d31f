/// Why what a store signed is not taken. Never holds what is in it.
public struct ReceiptError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong, as a stable dotted identifier; more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The identifier used in logs, answers and documents, such as `receipt.untrusted`.
        public let description: String

        /// It is nothing that a store signs, or lacks what it must have.
        public static let malformed = Code(description: "receipt.malformed")
        /// It is signed by nobody who leads to a trusted root, or altered.
        public static let untrusted = Code(description: "receipt.untrusted")
        /// It is of another app.
        public static let bundle = Code(description: "receipt.bundle")
        /// It is of another environment, such as a sandbox's where real purchases count.
        public static let environment = Code(description: "receipt.environment")
        /// Nobody said what buying this means.
        public static let unmapped = Code(description: "receipt.unmapped")
        /// Another account has the purchase.
        public static let taken = Code(description: "receipt.taken")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let description: String
    /// Which environment it is of, where that is what is wrong and a store has it.
    public let environment: StoreEnvironment?

    public init(_ code: Code, _ description: String, environment: StoreEnvironment? = nil) {
        self.code = code
        self.description = description
        self.environment = environment
    }

    /// Errors are equal when their codes are.
    public static func == (a: ReceiptError, b: ReceiptError) -> Bool { a.code == b.code }
}
