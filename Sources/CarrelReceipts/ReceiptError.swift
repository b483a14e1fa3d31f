public import CarrelBytes

/// Why what a store signed is not taken. Never holds what is in it.
public struct ReceiptError: CodedError {
    public typealias Code = ErrorCode<ReceiptError>

    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// Which environment it is of, where that is what is wrong and a store has it.
    public let environment: StoreEnvironment?

    public init(_ code: Code, _ message: String, environment: StoreEnvironment? = nil) {
        self.code = code
        self.message = message
        self.environment = environment
    }

    public var description: String { message }
}

extension ErrorCode where Failure == ReceiptError {
    /// It is nothing that a store signs, or lacks what it must have.
    public static var malformed: Self { Self("receipt.malformed") }
    /// It is signed by nobody who leads to a trusted root, or altered.
    public static var untrusted: Self { Self("receipt.untrusted") }
    /// It is of another app.
    public static var bundle: Self { Self("receipt.bundle") }
    /// It is of another environment, such as a sandbox's where real purchases count.
    public static var environment: Self { Self("receipt.environment") }
    /// Nobody said what buying this means.
    public static var unmapped: Self { Self("receipt.unmapped") }
    /// Another account has the purchase.
    public static var taken: Self { Self("receipt.taken") }
}
