// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

/// The values of a statement in the binary form that its parameters' types want, one after another.
struct PostgresParameters {
    /// All values' bytes.
    private(set) var bytes: [UInt8] = []
    /// The range of each value in `bytes`; nil for `null`.
    private(set) var ranges: [Range<Int>?] = []

    /// - Parameters:
    ///   - values: the values of `$1`, `$2`, ….
    ///   - types: the statement's parameter types.
    /// - Throws: `store.statement` if they do not match.
    init(_ values: [SQLValue], types: [PostgresType]) throws(StoreError) {
        guard values.count == types.count else {
            throw StoreError(.statement, "a statement with \(types.count) parameters was given \(values.count) values")
        }
        ranges.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let start = bytes.count
            if value == .null {
                ranges.append(nil)
            } else {
                try append(value, as: types[index], index: index)
                ranges.append(start..<bytes.count)
            }
        }
    }

    private mutating func append(_ value: SQLValue, as type: PostgresType, index: Int) throws(StoreError) {
        switch (value, type) {
        case (.integer(let number), .big): bytes.append(bigEndian: number)
        case (.integer(let number), .int):
            guard let number = Int32(exactly: number) else { throw tooLarge(index) }
            bytes.append(bigEndian: number)
        case (.integer(let number), .small):
            guard let number = Int16(exactly: number) else { throw tooLarge(index) }
            bytes.append(bigEndian: number)
        case (.integer(let number), .boolean): bytes.append(number == 0 ? 0 : 1)
        case (.integer(let number), .double): bytes.append(bigEndian: Double(number).bitPattern)
        case (.real(let number), .double): bytes.append(bigEndian: number.bitPattern)
        case (.text(let text), .text):
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            if bytes[start...].contains(0) { throw StoreError(.text, "text for $\(index + 1) contains U+0000") }
        case (.blob(let blob), .bytes): bytes.append(contentsOf: blob)
        default: throw StoreError(.statement, "the value for $\(index + 1) is \(value.typeName), which its column does not take")
        }
    }

    private func tooLarge(_ index: Int) -> StoreError {
        StoreError(.statement, "the number for $\(index + 1) is too large for its column")
    }
}
