// SPDX-License-Identifier: Apache-2.0

/// A failure that is a code and a message and nothing else.
///
/// A library names its errors by a domain, so that errors of different libraries are different types:
///
///     public enum PrinterErrorDomain: ErrorDomain {}
///     public typealias PrinterError = CodedFailure<PrinterErrorDomain>
///
///     extension ErrorCode where Failure == PrinterError {
///         public static var paper: Self { Self("printer.paper") }
///     }
///
///     throw PrinterError(.paper, "the tray is empty")
public struct CodedFailure<Domain: ErrorDomain>: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<Self>

    /// The kind of failure; failures with the same code are equal.
    public let code: Code
    /// A lower-case sentence without a period and without secrets.
    public let message: String

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period and without secrets.
    public init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    /// The message, with the code in parentheses unless the domain omits it.
    public var description: String { Domain.describesCode ? "\(message) (\(code))" : message }
}

/// The library that a ``CodedFailure`` is from: a type without values.
public protocol ErrorDomain {
    /// Whether the description of a failure has its code, as it does unless a domain says otherwise.
    static var describesCode: Bool { get }
}

extension ErrorDomain {
    public static var describesCode: Bool { true }
}
