// SPDX-License-Identifier: Apache-2.0

extension Instant: CustomStringConvertible {
    /// Reads the date-time of RFC 3339 §5.6, such as `2020-01-15T18:58:53.977Z` or `2020-01-15T20:58:53+02:00`.
    ///
    /// Up to nine digits of a second's fraction; those after the third are dropped. Leap seconds are refused.
    ///
    /// - Parameter text: the date and time.
    /// - Returns: nil for anything else, a day that the calendar does not have included.
    public static func parse(_ text: some StringProtocol) -> Instant? {
        var reader = DateReader(text.utf8)
        guard let year = reader.number(digits: 4), reader.skip("-"),
            let month = reader.number(digits: 2), reader.skip("-"),
            let day = reader.number(digits: 2), reader.skip("T") || reader.skip("t"),
            let (hour, minute, second) = reader.timeOfDay()
        else { return nil }
        var millisecond = 0
        if reader.skip(".") {
            guard let fraction = reader.millisecond() else { return nil }
            millisecond = fraction
        }
        var offset = 0  // minutes east
        if !reader.skip("Z"), !reader.skip("z") {
            let isWest = reader.skip("-")
            guard isWest || reader.skip("+"),
                let hours = reader.number(digits: 2), hours < 24, reader.skip(":"),
                let minutes = reader.number(digits: 2), minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (isWest ? -1 : 1)
        }
        guard reader.isAtEnd,
            let local = Instant(
                year: year,
                month: month,
                day: day,
                hour: hour,
                minute: minute,
                second: second,
                millisecond: millisecond
            )
        else { return nil }
        return local.advanced(byMilliseconds: Int64(-offset) * 60_000)
    }

    /// The date-time of RFC 3339 in UTC with three digits of the second's fraction: `2020-01-15T18:58:53.977Z`.
    ///
    /// A year outside 0000–9999 has a sign and six digits or more, which RFC 3339 does not know.
    public var description: String {
        let (date, time) = dateAndTime
        var out: [UInt8] = []
        out.reserveCapacity(24)
        if 0...9999 ~= date.year {
            out.append(decimal: date.year, digits: 4)
        } else {
            out.append(UInt8(ascii: date.year < 0 ? "-" : "+"))
            out.append(decimal: abs(date.year), digits: 6)
        }
        out.append(UInt8(ascii: "-"))
        out.append(decimal: date.month, digits: 2)
        out.append(UInt8(ascii: "-"))
        out.append(decimal: date.day, digits: 2)
        out.append(UInt8(ascii: "T"))
        out.append(timeOfDay: time / 1000)
        out.append(UInt8(ascii: "."))
        out.append(decimal: time % 1000, digits: 3)
        out.append(UInt8(ascii: "Z"))
        return String(decoding: out, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends `value` with zeros before it up to `digits`; more digits when it needs them.
    mutating func append(decimal value: Int, digits: Int) {
        var power = 1
        for _ in 1..<digits { power *= 10 }
        while value / power >= 10 { power *= 10 }
        while power > 0 {
            append(UInt8(ascii: "0") + UInt8(value / power % 10))
            power /= 10
        }
    }

    /// Appends `hh:mm:ss`.
    mutating func append(timeOfDay second: Int) {
        append(decimal: second / 3600, digits: 2)
        append(UInt8(ascii: ":"))
        append(decimal: second / 60 % 60, digits: 2)
        append(UInt8(ascii: ":"))
        append(decimal: second % 60, digits: 2)
    }
}
