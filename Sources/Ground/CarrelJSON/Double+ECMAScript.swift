// SPDX-License-Identifier: Apache-2.0

extension Double {
    /// The text that ECMAScript's Number::toString gives (ECMA-262 §6.1.6.1.20), which RFC 8785 §3.2.2.3 prescribes.
    var ecmaScriptText: String {
        if self == 0 { return "0" }
        // Swift finds the same shortest digits and only places the point and the exponent differently.
        var digits: [UInt8] = []
        var pointAt: Int?
        var exponent = 0
        let text = Array(magnitude.description.utf8)
        for (index, character) in text.enumerated() {
            if character == UInt8(ascii: "e") {
                exponent = Int(String(decoding: text[(index + 1)...], as: UTF8.self)) ?? 0
                break
            }
            if character == UInt8(ascii: ".") { pointAt = digits.count } else { digits.append(character) }
        }
        // the value is 0.digits × 10^n
        var n = (pointAt ?? digits.count) + exponent
        while digits.first == UInt8(ascii: "0") {
            digits.removeFirst()
            n -= 1
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }

        var out: [UInt8] = self < 0 ? [UInt8(ascii: "-")] : []
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "0"), count: count) }
        switch n {
        case digits.count...21 where digits.count <= 21:
            out += digits + zeros(n - digits.count)
        case 1...21:
            out += digits[..<n] + [UInt8(ascii: ".")] + digits[n...]
        case -5...0:
            out += [UInt8(ascii: "0"), UInt8(ascii: ".")] + zeros(-n) + digits
        default:
            out.append(digits[0])
            if digits.count > 1 { out += [UInt8(ascii: ".")] + digits[1...] }
            out += "e\(n > 0 ? "+" : "-")\(abs(n - 1))".utf8
        }
        return String(decoding: out, as: UTF8.self)
    }
}
