// SPDX-License-Identifier: Apache-2.0

/// Written with units, largest first: `30s`, `5m`, `1h30m`, `1.5h`, `250ms`, `2d`. A number alone is refused, except `0`.
extension Duration: TextValue {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    package init(written text: String) throws(InvalidValue) {
        guard let milliseconds = try Duration.milliseconds(in: text) else {
            throw InvalidValue("is not a length of time", hint: "write it with units, such as 30s, 5m, 1h30m or 250ms")
        }
        self = .milliseconds(milliseconds)
    }

    private static func milliseconds(in text: String) throws(InvalidValue) -> Int64? {
        if text == "0" { return 0 }
        var remainder = Substring(text)
        var total = 0.0
        var previous = Int64.max
        guard !remainder.isEmpty else { return nil }
        while !remainder.isEmpty {
            let digits = remainder.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            remainder = remainder.dropFirst(digits.count)
            let name = remainder.prefix { $0.isASCII && $0.isLetter }
            remainder = remainder.dropFirst(name.count)
            guard digits.first != ".", digits.last != ".", let number = Double(digits) else { return nil }
            guard let unit = units.first(where: { $0.name == name }), unit.milliseconds < previous else { return nil }
            previous = unit.milliseconds
            total += number * Double(unit.milliseconds)
        }
        guard total < 9e15 else { throw InvalidValue("is too long a time") }
        guard abs(total - total.rounded()) < 1e-3 else { throw InvalidValue("is finer than a millisecond") }
        return Int64(total.rounded())
    }

    package var written: String {
        let (seconds, attoseconds) = components
        var milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        if milliseconds == 0 { return "0s" }
        var text = ""
        for unit in Duration.units where milliseconds >= unit.milliseconds {
            text += "\(milliseconds / unit.milliseconds)\(unit.name)"
            milliseconds %= unit.milliseconds
        }
        return text
    }

    package static var valueName: String { "time" }
}
