// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// One row of a result: values in the order of the statement's columns, counted from 0.
package struct Row: Sendable, Equatable {
    /// The values, one for each column.
    package let values: [SQLValue]

    package init(_ values: [SQLValue]) {
        self.values = values
    }

    /// The value of column `index`. Traps when there is no such column.
    package subscript(index: Int) -> SQLValue {
        values[index]
    }

    /// The text of column `index`; throws `store.type` for any other type, `null` included.
    package func text(_ index: Int) throws(StoreError) -> String {
        guard case .text(let value) = self[index] else { throw mismatch(index, "text") }
        return value
    }

    /// The integer of column `index`; throws `store.type` for any other type, `null` included.
    package func integer(_ index: Int) throws(StoreError) -> Int64 {
        guard case .integer(let value) = self[index] else { throw mismatch(index, "an integer") }
        return value
    }

    /// The number of column `index`, integers included; throws `store.type` for any other type.
    package func real(_ index: Int) throws(StoreError) -> Double {
        switch self[index] {
        case .real(let value): return value
        case .integer(let value): return Double(value)
        default: throw mismatch(index, "a number")
        }
    }

    /// The bytes of column `index`; throws `store.type` for any other type, `null` included.
    package func blob(_ index: Int) throws(StoreError) -> [UInt8] {
        guard case .blob(let value) = self[index] else { throw mismatch(index, "a blob") }
        return value
    }

    /// Whether column `index` is not 0, which is how both engines keep Booleans; throws `store.type` unless it is an integer.
    package func flag(_ index: Int) throws(StoreError) -> Bool {
        try integer(index) != 0
    }

    /// The instant that column `index` holds in milliseconds since 1970-01-01 UTC; throws `store.type` unless it is an integer.
    package func instant(_ index: Int) throws(StoreError) -> Instant {
        Instant(milliseconds: try integer(index))
    }

    /// Whether column `index` is `null`.
    package func isNull(_ index: Int) -> Bool {
        self[index] == .null
    }

    /// The text of column `index`, or nil for `null`.
    package func textIfPresent(_ index: Int) throws(StoreError) -> String? {
        isNull(index) ? nil : try text(index)
    }

    /// The integer of column `index`, or nil for `null`.
    package func integerIfPresent(_ index: Int) throws(StoreError) -> Int64? {
        isNull(index) ? nil : try integer(index)
    }

    /// The number of column `index`, or nil for `null`.
    package func realIfPresent(_ index: Int) throws(StoreError) -> Double? {
        isNull(index) ? nil : try real(index)
    }

    /// The bytes of column `index`, or nil for `null`.
    package func blobIfPresent(_ index: Int) throws(StoreError) -> [UInt8]? {
        isNull(index) ? nil : try blob(index)
    }

    /// The instant of column `index`, or nil for `null`.
    package func instantIfPresent(_ index: Int) throws(StoreError) -> Instant? {
        isNull(index) ? nil : try instant(index)
    }

    private func mismatch(_ index: Int, _ expected: String) -> StoreError {
        StoreError(.type, "column \(index) is \(self[index].typeName), not \(expected)")
    }
}
