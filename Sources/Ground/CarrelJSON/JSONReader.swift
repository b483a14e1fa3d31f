// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Reads JSON text (RFC 8259) front to back, strictly.
struct JSONReader: ~Escapable {
    private let bytes: RawSpan
    private var position = 0
    private var depthLeft: Int
    private var valuesLeft: Int

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, _ limits: JSONLimits) {
        self.bytes = bytes
        depthLeft = limits.depth
        valuesLeft = limits.values
    }

    /// Reads the value that is the whole text.
    @_lifetime(self: copy self)
    mutating func document() throws(Malformed) -> JSON {
        skipSpace()
        let value = try value()
        skipSpace()
        guard position == bytes.byteCount else { throw Malformed("JSON text goes on after its value", at: position) }
        return value
    }

    @_lifetime(self: copy self)
    private mutating func value() throws(Malformed) -> JSON {
        guard valuesLeft > 0 else { throw Malformed("JSON text has too many values", at: position) }
        valuesLeft -= 1
        switch try next("value") {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw Malformed("JSON has no value that begins like this", at: position)
        }
    }

    @_lifetime(self: copy self)
    private mutating func object() throws(Malformed) -> JSONObject {
        try descend()
        var object = JSONObject()
        skipSpace()
        if try next("object") == UInt8(ascii: "}") {
            ascend()
            return object
        }
        while true {
            let start = position
            guard try next("object") == UInt8(ascii: "\"") else {
                throw Malformed("JSON object lacks a member's name", at: start)
            }
            let name = try string()
            skipSpace()
            guard try next("object") == UInt8(ascii: ":") else { throw Malformed("JSON object lacks a colon", at: position) }
            position += 1
            skipSpace()
            let value = try value()
            guard object.insert(name, value) else { throw Malformed("JSON object names a member twice", at: start) }
            skipSpace()
            switch try next("object") {
            case UInt8(ascii: ","):
                position += 1
                skipSpace()
            case UInt8(ascii: "}"):
                ascend()
                return object
            default:
                throw Malformed("JSON object lacks a comma or its end", at: position)
            }
        }
    }

    @_lifetime(self: copy self)
    private mutating func array() throws(Malformed) -> [JSON] {
        try descend()
        var elements: [JSON] = []
        skipSpace()
        if try next("array") == UInt8(ascii: "]") {
            ascend()
            return elements
        }
        while true {
            elements.append(try value())
            skipSpace()
            switch try next("array") {
            case UInt8(ascii: ","):
                position += 1
                skipSpace()
            case UInt8(ascii: "]"):
                ascend()
                return elements
            default:
                throw Malformed("JSON array lacks a comma or its end", at: position)
            }
        }
    }

    /// Passes over the character that opens an array or object.
    @_lifetime(self: copy self)
    private mutating func descend() throws(Malformed) {
        guard depthLeft > 0 else { throw Malformed("JSON text is nested too deeply", at: position) }
        depthLeft -= 1
        position += 1
    }

    /// Passes over the character that closes an array or object.
    @_lifetime(self: copy self)
    private mutating func ascend() {
        depthLeft += 1
        position += 1
    }

    @_lifetime(self: copy self)
    private mutating func word(_ text: StaticString, _ value: JSON) throws(Malformed) -> JSON {
        guard bytes.matches(text, at: position) else { throw Malformed("JSON has no such word", at: position) }
        position += text.utf8CodeUnitCount
        return value
    }

    @_lifetime(self: copy self)
    private mutating func number() throws(Malformed) -> JSONNumber {
        let start = position
        var isInteger = true
        if peek == UInt8(ascii: "-") { position += 1 }
        if peek == UInt8(ascii: "0") {
            position += 1
            if isDigit(peek) { throw Malformed("JSON number begins with a zero", at: start) }
        } else {
            try digits()
        }
        if peek == UInt8(ascii: ".") {
            position += 1
            isInteger = false
            try digits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            position += 1
            isInteger = false
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        let text = unsafe bytes.extracting(start..<position).withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        guard let number = JSONNumber(text: text, isInteger: isInteger) else {
            throw Malformed("JSON number is out of range", at: start)
        }
        return number
    }

    /// One digit or more.
    @_lifetime(self: copy self)
    private mutating func digits() throws(Malformed) {
        guard isDigit(peek) else { throw Malformed("JSON number lacks a digit", at: position) }
        repeat { position += 1 } while isDigit(peek)
    }

    private func isDigit(_ byte: UInt8?) -> Bool {
        guard let byte else { return false }
        return UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    @_lifetime(self: copy self)
    private mutating func string() throws(Malformed) -> String {
        let start = position + 1
        var end = start
        var all: UInt8 = 0
        var hasEscapes = false
        scan: while true {
            guard end < bytes.byteCount else { throw Malformed("JSON string is cut off", at: bytes.byteCount) }
            let byte = bytes.u8(at: end)
            switch byte {
            case UInt8(ascii: "\""):
                break scan
            case UInt8(ascii: "\\"):
                hasEscapes = true
                end += 2
            case 0..<0x20:
                throw Malformed("JSON string has a control character", at: end)
            default:
                all |= byte
                end += 1
            }
        }
        position = end + 1
        let raw = bytes.extracting(start..<end)
        if hasEscapes { return try JSONEscapes.decode(raw, at: start) }
        return all < 0x80 ? raw.asciiText : try raw.utf8Text(at: start)
    }

    private var peek: UInt8? {
        @inline(__always)
        get { position < bytes.byteCount ? bytes.u8(at: position) : nil }
    }

    /// The next byte, without passing over it.
    @inline(__always)
    private func next(_ what: StaticString) throws(Malformed) -> UInt8 {
        guard position < bytes.byteCount else { throw Malformed("JSON \(what) is cut off", at: position) }
        return bytes.u8(at: position)
    }

    @inline(__always)
    @_lifetime(self: copy self)
    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }
}

extension JSON {
    /// Reads one value and nothing else but white space around it.
    ///
    /// Refuses what RFC 8259 leaves to the reader: an object that names a member twice, a surrogate without its other half,
    /// bytes that are not UTF-8, a byte order mark, and numbers beyond the range of a double.
    ///
    /// - Parameters:
    ///   - bytes: the text, as UTF-8.
    ///   - limits: the greatest size, depth and number of values.
    /// - Returns: the value.
    /// - Throws: `Malformed` with the offset of the first byte that is not allowed.
    public static func parse(_ bytes: RawSpan, limits: JSONLimits = .default) throws(Malformed) -> JSON {
        guard bytes.byteCount <= limits.byteCount else {
            throw Malformed("JSON text is longer than \(limits.byteCount) bytes", at: limits.byteCount)
        }
        var reader = JSONReader(bytes, limits)
        return try reader.document()
    }
}
