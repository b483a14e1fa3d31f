// SPDX-License-Identifier: Apache-2.0

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }

    public init(booleanLiteral value: Bool) { self = .bool(value) }

    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

    public init(floatLiteral value: Double) { self = .number(JSONNumber(value)) }

    public init(stringLiteral value: String) { self = .string(value) }

    public init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// An object with its members in this order; a name that comes twice is a mistake in the program.
    public init(dictionaryLiteral members: (String, JSON)...) { self = .object(JSONObject(members)) }
}
