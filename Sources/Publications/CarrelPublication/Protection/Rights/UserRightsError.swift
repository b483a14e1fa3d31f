// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// An error of counting a right: a stable code, and a message for people.
///
/// A caller that receives it must refuse the request. Errors are equal if their codes are.
public struct UserRightsError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<UserRightsError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == UserRightsError {
    /// The amount is negative.
    public static var invalidAmount: Self { Self("rights.invalid-amount") }
    /// The identifier of the request was used before, for something else.
    public static var differentRequest: Self { Self("rights.different-request") }
    /// The store cannot be read or written, or contains invalid data.
    public static var unavailable: Self { Self("rights.unavailable") }
    /// The database lacks a table or a column: its app did not add a migration.
    public static var migration: Self { Self("rights.migration") }
}
