// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

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

    /// Reads one value and nothing else but white space around it.
    ///
    /// Refuses what RFC 8259 leaves to the reader: an object that names a member twice, a surrogate without its other half,
    /// bytes that are not UTF-8, a byte order mark, and numbers beyond the range of a double.
    ///
    /// - Parameters:
    ///   - bytes: the text, in UTF-8.
    ///   - limits: the bounds of depth, length and number of values.
    /// - Returns: the value.
    /// - Throws: `Malformed` with the offset of the first byte that is not accepted.
    public static func parse(_ bytes: RawSpan, limits: JSONLimits = .default) throws(Malformed) -> JSON {
        guard bytes.byteCount <= limits.byteCount else {
            throw Malformed("JSON text is longer than \(limits.byteCount) bytes", at: limits.byteCount)
        }
        var reader = JSONReader(bytes, limits)
        return try reader.document()
    }
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

    /// The value of a number, rounded where a double cannot hold it; nil for anything else.
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
