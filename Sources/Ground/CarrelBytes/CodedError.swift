// SPDX-License-Identifier: Apache-2.0

/// A failure with a stable code and a message.
///
/// Two errors are equal when their codes are, unless the type says otherwise.
public protocol CodedError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure.
    var code: ErrorCode<Self> { get }
    /// The event in words: a lower-case sentence without a period and without secrets.
    var message: String { get }
}

extension CodedError {
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The message with the code in parentheses.
    public var description: String { "\(message) (\(code))" }
}

/// The kind of a failure of one type. Each error type adds its codes as static members; the set grows, so handle unknown codes.
public struct ErrorCode<Failure>: Hashable, Sendable, CustomStringConvertible {
    /// A dotted name that never changes, such as `archive.damaged`: the same in logs, problem documents, command-line text and documentation.
    public let identifier: String

    /// Creates a code.
    ///
    /// - Parameter identifier: lower case, dots and hyphens.
    public init(_ identifier: String) {
        self.identifier = identifier
    }

    /// The identifier.
    public var description: String { identifier }
}
