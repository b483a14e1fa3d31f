// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Why a right could not be counted: a stable code, and words for a person.
///
/// A caller that gets one refuses the request. Two errors are equal when their codes are.
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
    /// The store cannot be read or written, or holds what it should not.
    public static var unavailable: Self { Self("rights.unavailable") }
    /// The database lacks a table or a column: its app did not add a migration.
    public static var migration: Self { Self("rights.migration") }
}
