// SPDX-License-Identifier: Apache-2.0

/// A JSON value (RFC 8259).
///
/// Strings are the same when their Unicode scalars are, not when they merely look the same; objects are the same when
/// they have the same members in any order; numbers when they have the same value.
public enum JSON: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string, without its escapes.
    case string(String)
    /// An array.
    case array([JSON])
    /// An object, its members in the order of the text.
    case object(JSONObject)
}

extension JSON {
    /// Whether it is `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The truth value; nil for anything else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The text of a string; nil for anything else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The value of a number that is whole and fits, however it was written; nil for anything else.
    public var int: Int? { if case .number(let value) = self { value.int } else { nil } }

    /// The value of a number, rounded if a double cannot represent it; nil for anything else.
    public var double: Double? { if case .number(let value) = self { value.double } else { nil } }

    /// The elements of an array; nil for anything else.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members of an object; nil for anything else.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The member of an object by its name; nil if there is none, or for every value but an object.
    ///
    /// - Parameter name: the member's name.
    public subscript(name: String) -> JSON? { object?[name] }

    /// A whole number.
    ///
    /// - Parameter value: the number.
    /// - Returns: the value as JSON.
    public static func integer(_ value: some FixedWidthInteger) -> JSON { .number(JSONNumber(Int64(value))) }

    /// A number; it must be finite.
    ///
    /// - Parameter value: a finite number.
    /// - Returns: the value as JSON.
    public static func real(_ value: Double) -> JSON { .number(JSONNumber(value)) }
}

extension JSON: Equatable {
    public static func == (a: JSON, b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): ExactText(a) == ExactText(b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}
