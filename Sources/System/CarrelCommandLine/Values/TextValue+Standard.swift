// SPDX-License-Identifier: Apache-2.0

extension String: TextValue {
    package init(written text: String) throws(InvalidValue) { self = text }
    package var written: String { self }
    package static var valueName: String { "text" }
}

extension TextValue where Self: FixedWidthInteger {
    package init(written text: String) throws(InvalidValue) {
        guard let value = Self(text) else {
            let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            throw InvalidValue(isNumber ? "is too large a number" : "is not a whole number")
        }
        self = value
    }

    package var written: String { String(self) }
    package static var valueName: String { "number" }
}

extension Int: TextValue {}
extension Int64: TextValue {}
extension UInt16: TextValue {}

extension Double: TextValue {
    package init(written text: String) throws(InvalidValue) {
        let isDecimal = text.utf8.allSatisfy { "0123456789.eE+-".utf8.contains($0) }
        guard isDecimal, let value = Double(text), value.isFinite else { throw InvalidValue("is not a number") }
        self = value
    }

    package var written: String {
        let whole = Int64(exactly: self)
        return whole.map(String.init) ?? String(self)
    }
    package static var valueName: String { "number" }
}

extension Bool: TextValue {
    package init(written text: String) throws(InvalidValue) {
        switch text {
        case "true", "yes", "on", "1": self = true
        case "false", "no", "off", "0": self = false
        default: throw InvalidValue("is neither true nor false")
        }
    }

    package var written: String { self ? "true" : "false" }
    package static var valueName: String { "true|false" }
    package static var choices: [String] { ["true", "false"] }
}
