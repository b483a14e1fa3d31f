// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import Testing

private enum Rule: String, CaseIterable, TextValue {
    case compatible, strict

    static let earlierNames = ["old": compatible]
}

struct `Written values` {
    @Test func `of an enumeration may have earlier names, which are read and not shown`() throws {
        #expect(try Rule(written: "old") == .compatible && Rule(written: "strict") == .strict)
        #expect(Rule.choices == ["compatible", "strict"] && Rule.compatible.written == "compatible")
        #expect(throws: InvalidValue("is not one of compatible, strict")) { try Rule(written: "other") }
    }

    @Test(arguments: [
        ("30s", 30_000), ("5m", 300_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000), ("250ms", 250), ("2d", 172_800_000),
        ("0", 0),
        ("0s", 0), ("1m0.5s", 60_500), ("1.001s", 1001), ("0.29s", 290),
    ])
    func `times have units`(text: String, milliseconds: Int) throws {
        #expect(try Duration(written: text) == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "5", "m", "5x", "-5s", "5s5m", "5m5m", ".5s", "5.s", "1e3s", "5 m", "0.0001s", "99999999999d", "٥s"])
    func `other times are refused`(text: String) {
        #expect(throws: InvalidValue.self) { try Duration(written: text) }
    }

    @Test(arguments: ["30s", "5m", "1h30m", "250ms", "2d", "1d1h1m1s1ms", "0s"])
    func `a time is written as read`(text: String) throws {
        #expect(try Duration(written: text).written == text)
    }

    @Test(arguments: [
        ("4096", 4096), ("4096B", 4096), ("4KiB", 4096), ("4kib", 4096), ("64MiB", 67_108_864), ("1.5GB", 1_500_000_000),
        ("1.1GB", 1_100_000_000), ("512 kB", 512_000), ("0", 0),
    ])
    func `counts of bytes may have units`(text: String, bytes: Int64) throws {
        #expect(try ByteCount(written: text).bytes == bytes)
    }

    @Test(arguments: ["", "B", "-1", "1.5B", "1 XB", "1e3", ".5MB", "99999999TB", "4KB?"])
    func `other counts of bytes are refused`(text: String) {
        #expect(throws: InvalidValue.self) { try ByteCount(written: text) }
    }

    @Test(
        arguments: [(0, "0B"), (1, "1B"), (4096, "4KiB"), (1_500_000, "1500kB"), (1 << 40, "1TiB"), (3_000_000, "3MB")]
            as [(Int64, String)]
    )
    func `a count of bytes is written in the unit it was meant in`(bytes: Int64, text: String) throws {
        #expect(ByteCount(bytes).written == text)
        #expect(try ByteCount(written: text).bytes == bytes)
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1550, "1.6 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
            (1_234_567_890, "1.2 GB"), (5_000_000_000_000, "5.0 TB"),
        ] as [(Int64, String)]
    )
    func `a count of bytes is rounded for a reader`(bytes: Int64, text: String) {
        #expect(ByteCount(bytes).rounded == text)
    }

    @Test(arguments: ["", "1.5", "0x10", "1_000", "ten", "99999999999999999999"])
    func `other whole numbers are refused`(text: String) {
        #expect(throws: InvalidValue.self) { try Int(written: text) }
    }

    @Test func `a number too large is told from none`() {
        #expect(throws: InvalidValue("is too large a number")) { try UInt16(written: "65536") }
        #expect(throws: InvalidValue("is not a whole number")) { try UInt16(written: "-1") }
    }

    @Test(arguments: ["nan", "inf", "0x1p3", "", "1,5"])
    func `other numbers are refused`(text: String) {
        #expect(throws: InvalidValue.self) { try Double(written: text) }
    }

    @Test func `numbers are written as read`() throws {
        #expect(try Double(written: "0.5").written == "0.5")
        #expect(try Double(written: "3").written == "3")
        #expect(try Int(written: "-12").written == "-12")
        #expect(try Bool(written: "off") == false)
        #expect(throws: InvalidValue.self) { try Bool(written: "maybe") }
    }

    @Test func `a date is its first moment in UTC`() throws {
        #expect(try Instant(written: "2026-02-01") == Instant(written: "2026-02-01T00:00:00Z"))
        #expect(throws: InvalidValue.self) { try Instant(written: "2026-2-1") }
    }

    @Test func `an end that is a date is the end of that day, and a length of time runs from now`() throws {
        #expect(try EndTime(written: "2026-12-07").instant == Instant(written: "2026-12-07T23:59:59Z"))
        #expect(try EndTime(written: "2026-12-07T10:00:00Z").instant == Instant(written: "2026-12-07T10:00:00Z"))
        let before = Instant.now()
        let end = try EndTime(written: "+14d").instant
        #expect(end > before + .seconds(14 * 86_400 - 2) && end <= Instant.now() + .seconds(14 * 86_400))
        for bad in ["14d", "+", "+14", "+d", "-14d", "2026-2-1", ""] {
            #expect(throws: InvalidValue.self, "\(bad)") { try EndTime(written: bad) }
        }
    }

    @Test func `an end in the past is refused, unless the start shows that it is meant`() throws {
        let now = try Instant(written: "2026-12-07T10:00:00Z")
        #expect(throws: UsageError(.badValue, "")) { try EndTime(written: "2026-12-06").requireFuture("--end", now: now) }
        #expect(throws: UsageError(.badValue, "")) {
            try EndTime(written: "2026-12-07T10:00:00Z").requireFuture("--end", now: now)
        }
        try EndTime(written: "2026-12-07").requireFuture("--end", now: now)
        let start = try Instant(written: "2026-01-01")
        try EndTime(written: "2026-02-01").requireFuture(after: start, "--end", now: now)
        #expect(throws: UsageError(.badValue, "")) {
            try EndTime(written: "2025-12-01").requireFuture(after: start, "--end", now: now)
        }
    }
}

struct `A suggestion` {
    @Test(arguments: [
        ("ordr", "order"), ("oder", "order"), ("roder", "order"), ("ORDER", "order"), ("ingst", "ingest"), ("hel", "help"),
    ])
    func `finds the word that was meant`(text: String, word: String) {
        #expect(Suggestion.nearest(to: text, among: ["help", "order", "ingest"]) == word)
    }

    @Test(arguments: ["", "xyz", "serve", "o"])
    func `suggests nothing without a near match`(text: String) {
        #expect(Suggestion.nearest(to: text, among: ["help", "order", "ingest"]) == nil)
    }

    @Test func `prefers the nearest, and the first of equals`() {
        #expect(Suggestion.nearest(to: "cat", among: ["cart", "cats", "bat"]) == "cart")
        #expect(Suggestion.nearest(to: "cats", among: ["bats", "cats"]) == "cats")
    }
}
