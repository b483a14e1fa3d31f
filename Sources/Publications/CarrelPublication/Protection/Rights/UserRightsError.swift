// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The domain of ``UserRightsError``.
public enum UserRightsErrorDomain: ErrorDomain {}

/// Why a right could not be counted: a stable code, and words for a person.
public typealias UserRightsError = CodedFailure<UserRightsErrorDomain>

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
