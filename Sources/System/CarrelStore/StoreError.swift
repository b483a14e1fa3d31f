// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A failure of a database or a blob store: a stable code, and words for a person.
///
/// Two errors are equal when their codes are. Neither the words nor the code ever hold a bound value or a key.
package struct StoreError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<StoreError>

    /// The kind of failure.
    package let code: Code
    /// The failure in words: a lower-case sentence without a period.
    package let message: String

    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period, and without values or keys.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether the code is one of `store.constraint.…`.
    package var isConstraint: Bool { code == .unique || code == .foreignKey || code == .check }
}

extension ErrorCode where Failure == StoreError {
    /// Another writer held the database too long, or too many writes wait. Trying again later helps.
    package static var busy: Self { Self("store.busy") }
    /// The disk, a quota or a size limit is full. Nothing was changed; it works again once there is room.
    package static var full: Self { Self("store.full") }
    /// The file is not what this program wrote.
    package static var corrupt: Self { Self("store.corrupt") }
    /// The database was written by a newer program.
    package static var newer: Self { Self("store.newer") }
    /// A migration is missing, or is not the one that was applied.
    package static var migration: Self { Self("store.migration") }
    /// A unique or primary key exists already.
    package static var unique: Self { Self("store.constraint.unique") }
    /// A row refers to a missing row, or is itself referred to.
    package static var foreignKey: Self { Self("store.constraint.foreign") }
    /// A CHECK or NOT NULL rule refused the row.
    package static var check: Self { Self("store.constraint.check") }
    /// A blob is shorter than it was, or holds other bytes than its name says.
    package static var damaged: Self { Self("store.damaged") }
    /// There is no such blob or file.
    package static var notFound: Self { Self("store.notFound") }
    /// The database was closed.
    package static var closed: Self { Self("store.closed") }
    /// The database or the disk cannot be reached or does not answer properly.
    package static var unavailable: Self { Self("store.unavailable") }
    /// A write was attempted in a read, or the database is read-only.
    package static var readOnly: Self { Self("store.readOnly") }
    /// A column holds another type than the code expects.
    package static var type: Self { Self("store.type") }
    /// The statement is wrong, or the values do not fit it: a mistake in the program.
    package static var statement: Self { Self("store.statement") }
    /// A text holds U+0000, which no engine keeps.
    package static var text: Self { Self("store.text") }
    /// This engine does not support the request.
    package static var unsupported: Self { Self("store.unsupported") }
}
