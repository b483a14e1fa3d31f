// SPDX-License-Identifier: Apache-2.0

/// A JSON number: exact when it is a whole number of 64 bits, otherwise a double with the text it was read from.
public struct JSONNumber: Sendable {
    private enum Value {
        case integer(Int64)
        case real(Double)
        case read(Double, text: String)
    }

    private let value: Value

    /// A whole number.
    ///
    /// - Parameter value: the number.
    public init(_ value: Int64) {
        self.value = .integer(value)
    }

    /// A number that must be finite: JSON has no other.
    ///
    /// - Parameter value: a finite number.
    public init(_ value: Double) {
        precondition(value.isFinite, "JSON has no infinite numbers and no NaN")
        self.value = .real(value)
    }

    /// A number as it was read; nil if it is beyond the range of a double. The text must follow RFC 8259 §6.
    init?(text: String, isInteger: Bool) {
        // "-0" is a distinct number: integers have no negative zero
        if isInteger, let integer = Int64(text), integer != 0 || text == "0" {
            value = .integer(integer)
        } else {
            guard let double = Double(text), double.isFinite else { return nil }
            value = .read(double, text: text)
        }
    }

    /// The value when it is whole and a 64-bit integer holds it exactly, however it was written (`3`, `3.0`, `3e0`).
    public var int: Int? {
        switch value {
        case .integer(let integer): Int(integer)
        case .real(let double), .read(let double, _): Int(exactly: double)
        }
    }

    /// The value, or the double nearest to it.
    public var double: Double {
        switch value {
        case .integer(let integer): Double(integer)
        case .real(let double), .read(let double, _): double
        }
    }

    /// Its JSON text: the text that was read, or the shortest that reads as the same double.
    public var text: String {
        switch value {
        case .integer(let integer): String(integer)
        case .real(let double): double.ecmaScriptText
        case .read(_, let text): text
        }
    }

    /// The text of RFC 8785 §3.2.2.3, which writes the nearest double, as every implementation over doubles does.
    public var canonicalText: String { double.ecmaScriptText }
}

extension JSONNumber: Equatable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, CustomStringConvertible {
    public static func == (a: JSONNumber, b: JSONNumber) -> Bool {
        switch (a.value, b.value) {
        case (.integer(let a), .integer(let b)): a == b
        case (.integer(let a), _): Int64(exactly: b.double) == a
        case (_, .integer(let b)): Int64(exactly: a.double) == b
        default: a.double == b.double
        }
    }

    public init(integerLiteral value: Int64) { self.init(value) }

    public init(floatLiteral value: Double) { self.init(value) }

    public var description: String { text }
}
