// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `Instants in RFC 3339` {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("2020-01-15T18:58:53.977Z", 1_579_114_733_977),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        // RFC 3339 §5.8
        ("1985-04-12T23:20:50.52Z", 482_196_050_520),
        ("1996-12-19T16:39:57-08:00", 851_042_397_000),
        ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130),
        // other ways to write the same
        ("2020-01-15t18:58:53.977z", 1_579_114_733_977),
        ("2020-01-15T18:58:53.977999999Z", 1_579_114_733_977),
        ("2020-01-15T18:58:53.9Z", 1_579_114_733_900),
        ("2020-01-15T18:58:53-00:00", 1_579_114_733_000),
        ("2020-01-15T00:00:00+23:59", 1_578_960_060_000),
        ("1969-12-31T23:59:59.9999Z", -1),
    ])
    func `are read`(text: String, milliseconds: Int64) {
        #expect(Instant.parse(text)?.milliseconds == milliseconds)
        #expect(Instant.parse(Substring(text))?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2020", "2020-01-15", "2020-01-15T18:58Z", "2020-01-15T18:58:53", "2020-01-15 18:58:53Z", "2020-1-15T18:58:53Z",
        "2020-02-30T00:00:00Z", "2019-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2020-04-31T00:00:00Z", "2020-00-01T00:00:00Z",
        "2020-13-01T00:00:00Z", "2020-01-00T00:00:00Z", "2020-01-32T00:00:00Z", "2020-01-15T24:00:00Z", "2020-01-15T23:60:00Z",
        "2016-12-31T23:59:60Z", "2020-01-15T18:58:53.Z", "2020-01-15T18:58:53.1234567890Z", "2020-01-15T18:58:53,5Z",
        "2020-01-15T18:58:53+24:00", "2020-01-15T18:58:53+01:60", "2020-01-15T18:58:53+0100", "2020-01-15T18:58:53+01",
        "2020-01-15T18:58:53ZZ", " 2020-01-15T18:58:53Z", "2020-01-15T18:58:53Z ", "+2020-01-15T18:58:53Z",
        "-020-01-15T18:58:53Z", "２020-01-15T18:58:53Z", "2020-01-15T18:58:53.977Z\0",
    ])
    func `are refused when they are anything else`(text: String) {
        #expect(Instant.parse(text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1_579_114_733_977, "2020-01-15T18:58:53.977Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (.max, "+292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)]
    )
    func `are written`(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).description == text)
    }

    @Test func `come back the same all over 800 years`() {
        var wrong: [Int64] = []
        var previous = ""
        for day in stride(from: Int64(-146_097), to: 146_097, by: 11) {
            let instant = Instant(milliseconds: day * 86_400_000 + abs(day * 7919) % 86_400_000)
            let text = instant.description
            if Instant.parse(text) != instant || text <= previous { wrong.append(day) }
            previous = text
        }
        #expect(wrong.isEmpty)
    }
}

struct `Instants in HTTP` {
    static let now = Instant(milliseconds: 1_767_225_600_000)  // 2026-01-01

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000),
        ("Sun Nov  6 08:49:37 1994", 784_111_777_000),
        ("Wed Nov 16 08:49:37 1994", 784_975_777_000),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799_000),
        ("Tuesday, 31-Dec-76 00:00:00 GMT", 3_376_598_400_000),  // 2076: 50 years ahead
        ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800_000),  // 1977: 51 would be too far
        ("Thursday, 01-Jan-26 00:00:00 GMT", 1_767_225_600_000),
    ])
    func `are read in the three forms of RFC 9110`(text: String, milliseconds: Int64) {
        #expect(Instant.parse(httpDate: text, now: Self.now)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Mon, 06 Nov 1994 08:49:37 GMT", "Mon Nov  6 08:49:37 1994", "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Wed, 30 Feb 2000 00:00:00 GMT",
        "Sunday, 30-Feb-94 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT", "1994-11-06T08:49:37Z",
    ])
    func `are refused when they are anything else`(text: String) {
        #expect(Instant.parse(httpDate: text, now: Self.now) == nil)
    }

    @Test func `are written as IMF-fixdate and come back without their fraction`() {
        #expect(Instant(milliseconds: 784_111_777_999).httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(Instant(milliseconds: -1).httpDate == "Wed, 31 Dec 1969 23:59:59 GMT")
        var wrong: [Int64] = []
        for day in stride(from: Int64(0), to: 36_525, by: 17) {
            let instant = Instant(milliseconds: day * 86_400_000 + day * 1000 + 1)
            if Instant.parse(httpDate: instant.httpDate)?.milliseconds != instant.milliseconds - 1 { wrong.append(day) }
        }
        #expect(wrong.isEmpty)
    }
}

struct `Time` {
    @Test func `is added and subtracted`() {
        let start = Instant(milliseconds: 1000)
        #expect(start + .seconds(2) == Instant(milliseconds: 3000))
        #expect(start - .milliseconds(1500) == Instant(milliseconds: -500))
        #expect(start + .microseconds(1999) == Instant(milliseconds: 1001))
        #expect(start - Instant(milliseconds: 3500) == .milliseconds(-2500))
        #expect(start.advanced(byMilliseconds: -1) < start)
        var later = start
        later += .seconds(1)
        later -= .milliseconds(1)
        #expect(later == Instant(milliseconds: 1999))
    }

    @Test func `stands still in a manual clock until it is moved`() {
        let clock = ManualClock(Instant(milliseconds: 5000))
        let injected: any WallClock = clock
        #expect(injected.now == Instant(milliseconds: 5000))
        clock.advance(by: .seconds(1))
        #expect(injected.now == Instant(milliseconds: 6000))
        clock.advance(by: .milliseconds(-2000))
        #expect(injected.now == Instant(milliseconds: 4000))
        clock.set(Instant(milliseconds: 1))
        #expect(injected.now == Instant(milliseconds: 1))
    }

    @Test func `passes in the system's clock and is this century's`() {
        let first = SystemClock().now
        #expect(first > Instant(milliseconds: 1_735_689_600_000))  // 2025
        #expect(first < Instant(milliseconds: 4_102_444_800_000))  // 2100
        while SystemClock().now == first {}
        #expect(SystemClock().now > first)
    }
}
