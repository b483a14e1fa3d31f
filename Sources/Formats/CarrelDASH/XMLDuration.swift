// SPDX-License-Identifier: Apache-2.0

/// Durations in MPDs (XML Schema Part 2 §3.2.6, xs:duration). A year has 365 days and a month 30.
enum XMLDuration {
    /// Reads a duration such as `PT1H2M3.5S`, to the nanosecond; nil for anything else.
    static func parse(_ text: String) -> Duration? {
        var remainder = Substring(text).utf8
        while let last = remainder.last, last == 0x20 { remainder = remainder.dropLast() }
        while let first = remainder.first, first == 0x20 { remainder = remainder.dropFirst() }
        let isNegative = remainder.first == UInt8(ascii: "-")
        if isNegative { remainder = remainder.dropFirst() }
        guard remainder.popFirst() == UInt8(ascii: "P") else { return nil }
        var total = Duration.zero
        var isTime = false
        var hasPart = false
        while let first = remainder.first {
            if first == UInt8(ascii: "T") {
                guard !isTime else { return nil }
                isTime = true
                remainder = remainder.dropFirst()
                continue
            }
            guard let (whole, nanoseconds, hasFraction) = number(&remainder), let unit = remainder.popFirst() else { return nil }
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

    private static func number(_ remainder: inout Substring.UTF8View) -> (whole: Int64, nanoseconds: Int64, hasFraction: Bool)? {
        var whole: Int64 = 0
        var count = 0
        while let byte = remainder.first, 0x30...0x39 ~= byte {
            guard whole < 1 << 40 else { return nil }
            whole = whole * 10 + Int64(byte & 15)
            remainder = remainder.dropFirst()
            count += 1
        }
        guard remainder.first == UInt8(ascii: ".") else { return count > 0 ? (whole, 0, false) : nil }
        remainder = remainder.dropFirst()
        var unit: Int64 = 100_000_000
        var nanos: Int64 = 0
        while let byte = remainder.first, 0x30...0x39 ~= byte {
            count += 1
            nanos += Int64(byte & 15) * unit
            unit /= 10
            remainder = remainder.dropFirst()
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
