// SPDX-License-Identifier: Apache-2.0

/// Values of JSON inside what Swift's encoders write and its decoders read, of whatever format.
extension JSON: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads any value that JSON has. Whole numbers are exact from -2⁶³ to 2⁶⁴ - 1; other numbers become the nearest double.
    ///
    /// - Parameter decoder: a decoder of any format.
    /// - Throws: `DecodingError.dataCorrupted` for values that JSON lacks, such as an infinite number, or a date in a format with
    ///   dates.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            var object = JSONObject()
            for name in container.allKeys { object[name.stringValue] = try container.decode(JSON.self, forKey: name) }
            self = .object(object)
        } else if var container = try? decoder.unkeyedContainer() {
            var array: [JSON] = []
            while !container.isAtEnd { array.append(try container.decode(JSON.self)) }
            self = .array(array)
        } else {
            self = try Self.scalar(try decoder.singleValueContainer())
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSON {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .integer(value) }
        if let value = try? container.decode(UInt64.self), let number = JSONNumber(text: String(value), isInteger: true) {
            return .number(number)
        }
        let number = try? container.decode(Double.self)
        if let number, number.isFinite { return .real(number) }
        do {
            // also a text that the decoder takes for an infinite number or NaN
            return .string(try container.decode(String.self))
        } catch {
            let words =
                number.map { "JSON has no number \($0)" } ?? "neither null, nor a truth value, a number within range or a string"
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: container.codingPath, debugDescription: words, underlyingError: error)
            )
        }
    }

    /// Writes the value. The encoder chooses the order of an object's members. Whole numbers are exact from -2⁶³ to 2⁶⁴ - 1;
    /// other numbers are written as the nearest double, which is always finite.
    ///
    /// - Parameter encoder: an encoder of any format.
    /// - Throws: `EncodingError`, the encoder's errors.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in object { try container.encode(value, forKey: Name(stringValue: name)) }
        case .array(let array):
            var container = encoder.unkeyedContainer()
            for value in array { try container.encode(value) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let value):
            var container = encoder.singleValueContainer()
            if let whole = value.int {
                try container.encode(whole)
            } else if let whole = UInt64(value.text) {
                try container.encode(whole)
            } else {
                try container.encode(value.double)
            }
        }
    }
}
