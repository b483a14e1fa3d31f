// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// The bytes of a license that are signed (LCP 1.0 §5.3): members sorted by their Unicode code points, no white space.
enum CanonicalForm: CaseIterable, Sendable {
    /// As the specification has it: hexadecimal escapes in capitals, numbers in their shortest form.
    case strict
    /// As the canonicaliser of the reference server writes it: numbers as they were received, short escapes, small digits, and the
    /// separators U+2028 and U+2029 escaped. The two differ only in documents that signers should not make.
    case reference

    /// The canonical form of a document without its signature.
    func bytes(of document: JSONObject) -> [UInt8] {
        var document = document
        document["signature"] = nil
        var out: [UInt8] = []
        write(.object(document), &out)
        return out
    }

    private func write(_ value: JSON, _ out: inout [UInt8]) {
        switch value {
        case .null: out += "null".utf8
        case .bool(let isTrue): out += (isTrue ? "true" : "false").utf8
        case .number(let number): out += (self == .strict ? Self.normalized(number.text) : number.text).utf8
        case .string(let text): write(text, &out)
        case .array(let list):
            out.append(UInt8(ascii: "["))
            for (index, element) in list.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                write(element, &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let object):
            // UTF-8 sorts as code points do
            let members = object.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                write(member.name, &out)
                out.append(UInt8(ascii: ":"))
                write(member.value, &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private func write(_ text: String, _ out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += [UInt8(ascii: "\\"), UInt8(scalar.value)]
            case "\u{0}"..."\u{1f}": out += escape(scalar).utf8
            case "\u{2028}", "\u{2029}":
                out += self == .strict ? Array(String(scalar).utf8) : Array("\\u\(String(scalar.value, radix: 16))".utf8)
            default: out += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    private func escape(_ scalar: Unicode.Scalar) -> String {
        let short: [Unicode.Scalar: String] = ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b", "\u{c}": "\\f"]
        if self == .reference, let text = short[scalar] { return text }
        let digits = String(scalar.value, radix: 16, uppercase: self == .strict)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// A number without redundant zeros; fractions as one digit, a fraction and an exponent.
    static func normalized(_ text: String) -> String {
        let exponentAt = text.firstIndex { $0 == "e" || $0 == "E" } ?? text.endIndex
        var mantissa = text[..<exponentAt]
        let isNegative = mantissa.hasPrefix("-")
        if isNegative { mantissa = mantissa.dropFirst() }
        var scale = 0
        if exponentAt < text.endIndex {
            // beyond that a number is nothing, however it is written
            guard let exponent = Int(text[text.index(after: exponentAt)...]), -1_000_000...1_000_000 ~= exponent else {
                return text
            }
            scale = exponent
        }
        let whole = mantissa.prefix { $0 != "." }
        let fraction = mantissa.dropFirst(whole.count + 1)
        scale -= fraction.count
        var digits = Array((whole + fraction).drop { $0 == "0" })
        while digits.last == "0" {
            digits.removeLast()
            scale += 1
        }
        guard let first = digits.first else { return "0" }
        let sign = isNegative ? "-" : ""
        if scale >= 0 { return sign + String(digits) + String(repeating: "0", count: scale) }
        let decimals = digits.count > 1 ? "." + String(digits.dropFirst()) : ""
        return "\(sign)\(first)\(decimals)E\(digits.count - 1 + scale)"
    }
}
