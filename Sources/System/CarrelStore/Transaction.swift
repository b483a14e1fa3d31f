// SPDX-License-Identifier: Apache-2.0

/// The access of a closure given to ``Database/write(_:)`` or ``Database/read(_:)`` to the database.
///
/// A statement that fails dooms the transaction on both engines alike: every later statement throws the same error, and
/// nothing of it is kept even when the closure catches the error and returns.
package protocol Transaction {
    /// Runs a statement and returns the number of inserted, updated or deleted rows.
    ///
    /// The values are for `$1`, `$2`, …: exactly as many as the statement uses.
    @discardableResult
    func run(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Int

    /// All rows of a statement whose result is known to be small.
    func rows(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> [Row]

    /// The first row of a statement, or nil if there is none.
    func row(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Row?

    /// Calls `body` with one row after the other, keeping none.
    func each(_ sql: SQL, _ values: [SQLValue], _ body: (Row) throws -> Void) throws
}

extension Transaction {
    /// Runs a statement without parameters and returns how many rows it changed.
    @discardableResult
    package func run(_ sql: SQL) throws(StoreError) -> Int {
        try run(sql, [])
    }

    /// All rows of a statement without parameters.
    package func rows(_ sql: SQL) throws(StoreError) -> [Row] {
        try rows(sql, [])
    }

    /// The first row of a statement without parameters.
    package func row(_ sql: SQL) throws(StoreError) -> Row? {
        try row(sql, [])
    }
}
