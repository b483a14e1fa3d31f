// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A value that goes into a statement or comes out of a row.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    /// Text without U+0000, which PostgreSQL cannot hold.
    case text(String)
    case blob([UInt8])
}

extension SQLValue {
    /// The number, or `null` when there is none.
    package init(_ value: Int64?) {
        self = value.map { .integer($0) } ?? .null
    }

    /// The number, or `null` when there is none.
    package init(_ value: Int?) {
        self = value.map { .integer(Int64($0)) } ?? .null
    }

    /// 1 or 0: the two engines have no boolean in common.
    package init(_ value: Bool) {
        self = .integer(value ? 1 : 0)
    }

    /// The number, or `null` when there is none.
    package init(_ value: Double?) {
        self = value.map { .real($0) } ?? .null
    }

    /// The text, or `null` when there is none.
    package init(_ value: String?) {
        self = value.map { .text($0) } ?? .null
    }

    /// The bytes, or `null` when there are none.
    package init(_ value: [UInt8]?) {
        self = value.map { .blob($0) } ?? .null
    }

    /// The instant as milliseconds since 1970-01-01 UTC.
    package static func instant(_ value: Instant) -> SQLValue { .integer(value.milliseconds) }

    /// The instant as milliseconds since 1970-01-01 UTC, or `null` when there is none.
    package static func instant(_ value: Instant?) -> SQLValue { value.map { .integer($0.milliseconds) } ?? .null }

    /// The name of the value's type, for errors; never the value.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .integer: "an integer"
        case .real: "a real number"
        case .text: "text"
        case .blob: "a blob"
        }
    }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    package init(floatLiteral value: Double) {
        self = .real(value)
    }

    package init(stringLiteral value: String) {
        self = .text(value)
    }

    package init(nilLiteral: ()) {
        self = .null
    }
}
