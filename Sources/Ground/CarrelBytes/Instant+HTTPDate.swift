// SPDX-License-Identifier: Apache-2.0

extension Instant {
    /// The date of HTTP header fields (RFC 9110 §5.6.7), to the second: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var httpDate: String {
        let (date, time) = dateAndTime
        var out = Array(Self.weekdays[date.weekday].prefix(3).utf8)
        out += ", ".utf8
        out.append(decimal: date.day, digits: 2)
        out.append(UInt8(ascii: " "))
        out += Self.months[date.month - 1].utf8
        out.append(UInt8(ascii: " "))
        out.append(decimal: date.year, digits: 4)
        out.append(UInt8(ascii: " "))
        out.append(timeOfDay: time / 1000)
        out += " GMT".utf8
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads the three forms of RFC 9110 §5.6.7: IMF-fixdate and the obsolete ones of RFC 850 and asctime().
    ///
    /// - Parameters:
    ///   - text: the field's value without space around it.
    ///   - now: the time that decides the century of RFC 850's two-digit year, never more than 50 years ahead.
    /// - Returns: nil for anything else; a wrong weekday is only accepted with a two-digit year.
    public static func parse(httpDate text: some StringProtocol, now: Instant = .now()) -> Instant? {
        var reader = DateReader(text.utf8)
        for (number, name) in weekdays.enumerated() {
            if reader.skip(name + ", ") { return rfc850(&reader, now: now) }
            if reader.skip(name.prefix(3) + ", ") { return fixdate(&reader, weekday: number) }
            if reader.skip(name.prefix(3) + " ") { return asctime(&reader, weekday: number) }
        }
        return nil
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `06 Nov 1994 08:49:37 GMT`
    private static func fixdate(_ reader: inout DateReader, weekday: Int) -> Instant? {
        guard let day = reader.number(digits: 2), reader.skip(" "),
            let month = reader.index(in: months), reader.skip(" "),
            let year = reader.number(digits: 4), reader.skip(" "),
            let (hour, minute, second) = reader.timeOfDay(), reader.skip(" GMT"), reader.isAtEnd,
            CivilDate(year: year, month: month + 1, day: day)?.weekday == weekday
        else { return nil }
        return Instant(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    /// `06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ reader: inout DateReader, now: Instant) -> Instant? {
        guard let day = reader.number(digits: 2), reader.skip("-"),
            let month = reader.index(in: months), reader.skip("-"),
            let shortYear = reader.number(digits: 2), reader.skip(" "),
            let (hour, minute, second) = reader.timeOfDay(), reader.skip(" GMT"), reader.isAtEnd
        else { return nil }
        let latest = now.dateAndTime.date.year + 50
        let year = latest - (latest - shortYear) % 100
        return Instant(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    /// `Nov  6 08:49:37 1994`
    private static func asctime(_ reader: inout DateReader, weekday: Int) -> Instant? {
        guard let month = reader.index(in: months), reader.skip(" "),
            let day = reader.number(digits: reader.skip(" ") ? 1 : 2), reader.skip(" "),
            let (hour, minute, second) = reader.timeOfDay(), reader.skip(" "),
            let year = reader.number(digits: 4), reader.isAtEnd,
            CivilDate(year: year, month: month + 1, day: day)?.weekday == weekday
        else { return nil }
        return Instant(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }
}
