// SPDX-License-Identifier: Apache-2.0

/// Durations in MPDs (XML Schema Part 2 §3.2.6, xs:duration). A year has 365 days and a month 30.
enum XMLDuration {
    /// Reads a duration such as `PT1H2M3.5S`, to the nanosecond; nil for anything else.
    static func parse(_ text: String) -> Duration? {
        var rest = Substring(text).utf8
        while let last = rest.last, last == 0x20 { rest = rest.dropLast() }
        while let first = rest.first, first == 0x20 { rest = rest.dropFirst() }
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        guard rest.popFirst() == UInt8(ascii: "P") else { return nil }
        var total = Duration.zero
        var isTime = false
        var hasPart = false
        while let first = rest.first {
            if first == UInt8(ascii: "T") {
                guard !isTime else { return nil }
                isTime = true
                rest = rest.dropFirst()
                continue
            }
            guard let (whole, nanoseconds, hasFraction) = number(&rest), let unit = rest.popFirst() else { return nil }
            let seconds: Int64
            switch (unit, isTime) {
            case (UInt8(ascii: "Y"), false): seconds = 365 * 86400
            case (UInt8(ascii: "M"), false): seconds = 30 * 86400
            case (UInt8(ascii: "D"), false): seconds = 86400
            case (UInt8(ascii: "H"), true): seconds = 3600
            case (UInt8(ascii: "M"), true): seconds = 60
            case (UInt8(ascii: "S"), true): seconds = 1
            default: return nil
            }
            guard !hasFraction || seconds == 1 else { return nil }
            let (product, over) = whole.multipliedReportingOverflow(by: seconds)
            guard !over, product < limit else { return nil }
            total += .seconds(product) + .nanoseconds(nanoseconds)
            hasPart = true
        }
        guard hasPart, total < .seconds(limit) else { return nil }
        return isNegative ? .zero - total : total
    }

    /// Most seconds of a duration: some 35,000 years.
    private static let limit: Int64 = 1 << 40

    private static func number(_ rest: inout Substring.UTF8View) -> (whole: Int64, nanoseconds: Int64, hasFraction: Bool)? {
        var whole: Int64 = 0
        var count = 0
        while let byte = rest.first, 0x30...0x39 ~= byte {
            guard whole < 1 << 40 else { return nil }
            whole = whole * 10 + Int64(byte & 15)
            rest = rest.dropFirst()
            count += 1
        }
        guard rest.first == UInt8(ascii: ".") else { return count > 0 ? (whole, 0, false) : nil }
        rest = rest.dropFirst()
        var unit: Int64 = 100_000_000
        var nanos: Int64 = 0
        while let byte = rest.first, 0x30...0x39 ~= byte {
            count += 1
            nanos += Int64(byte & 15) * unit
            unit /= 10
            rest = rest.dropFirst()
        }
        return count > 0 ? (whole, nanos, true) : nil
    }

    /// The duration as seconds, such as `PT12.5S`; parts of a nanosecond are dropped.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        if seconds < 0 || attoseconds < 0 { return "-" + text(.zero - duration) }
        var fraction = String(attoseconds / 1_000_000_000 + 1_000_000_000).dropFirst()
        while fraction.hasSuffix("0") { fraction = fraction.dropLast() }
        return "PT\(seconds)\(fraction.isEmpty ? "" : ".\(fraction)")S"
    }
}
