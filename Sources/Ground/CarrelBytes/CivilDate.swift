// SPDX-License-Identifier: Apache-2.0

/// A day of the Gregorian calendar, extended to all years.
struct CivilDate: Equatable {
    let year, month, day: Int

    /// Nil for a day that the calendar does not have, such as 30 February.
    init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, 1...Self.length(ofMonth: month, year: year) ~= day else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is `days` after 1 January 1970.
    init(daysSince1970 days: Int) {
        // Count from 1 March 0000: there every leap day ends a year, and 400 years have 146,097 days.
        let (cycle, dayOfCycle) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1 January 1970; negative before.
    var daysSince1970: Int {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let (cycle, yearOfCycle) = yearFromMarch.flooredDivision(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    /// 0 is Sunday.
    var weekday: Int { (daysSince1970 + 4).flooredDivision(by: 7).remainder }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension FixedWidthInteger {
    /// The quotient rounded down, and the rest, which is never negative.
    func flooredDivision(by divisor: Self) -> (quotient: Self, remainder: Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
