// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Testing

@testable import CarrelCommandLine

/// A clock that only the test moves.
private final class StoppedClock: Sendable {
    private let time = Locked(Duration.zero)
    var now: Duration { time.withLock { $0 } }
    func move(_ step: Duration) { time.withLock { $0 += step } }
}

struct `A progress bar` {
    private let clock = StoppedClock()
    private let notes = MemorySink()
    private let results = MemorySink()

    private func console(_ terminal: Terminal) -> Console {
        Console(name: "shelf", diagnostics: terminal, results: results, notes: notes, now: { [clock] in clock.now })
    }

    @Test func `on a terminal redraws one line at most ten times a second`() {
        let console = console(Terminal(isInteractive: true, columns: 80))
        let bar = console.progress("adding tale.mp3", totalBytes: 100_000_000)
        for step in 1...200 {
            clock.move(.milliseconds(10))
            bar.advance(to: Int64(step) * 500_000)
        }
        let drawn = notes.text.split(separator: "\r").count
        #expect((20...21).contains(drawn), "2 s of steps drew \(drawn) lines")
        #expect(!notes.text.contains("\n"))
        #expect(notes.text.hasPrefix("adding tale.mp3 ────────────   0 %  500.0 kB of 100.0 MB\r"))
        #expect(
            notes.text.hasSuffix(
                "\radding tale.mp3 ━━━━━━━━━━━─  95 %  95.5 MB of 100.0 MB  50.0 MB/s  0:00 left".replacing(
                    "\r",
                    with: "\r\u{1b}[K"
                )
            )
        )
        bar.finish("added tale.mp3")
        #expect(notes.text.hasSuffix("\r\u{1b}[Kadded tale.mp3\n"))
    }

    @Test func `elsewhere writes a line every five seconds`() {
        let bar = console(Terminal()).progress("adding tale.mp3", totalBytes: 100_000_000)
        for step in 1...12 {
            clock.move(.seconds(1))
            bar.advance(to: Int64(step) * 5_000_000)
        }
        bar.finish("added tale.mp3")
        #expect(
            notes.text == """
                adding tale.mp3: 25 %, 25.0 MB of 100.0 MB, 5.0 MB/s, 0:15 left
                adding tale.mp3: 50 %, 50.0 MB of 100.0 MB, 5.0 MB/s, 0:10 left
                added tale.mp3

                """
        )
    }

    @Test(arguments: [true, false])
    func `is silent for machines and the quiet`(json: Bool) {
        var options = OutputOptions()
        options.json = json
        options.quiet = !json
        let bar = console(Terminal(isInteractive: true)).with(options).progress("adding", totalItems: 3)
        clock.move(.seconds(60))
        bar.advance(by: 1)
        bar.finish("added")
        #expect(notes.text == "")
    }

    @Test func `notes and results pass above the line`() {
        let console = console(Terminal(isInteractive: true, hasUnicode: false))
        let bar = console.progress("adding", totalItems: 4)
        bar.advance(by: 1)
        let line = notes.text
        #expect(line.contains("###.........") && line.contains(" 25 %  1 of 4"))
        console.note("a note")
        #expect(notes.text == "\(line)\r\u{1b}[Ka note\n\(line)")
        console.print("a result")
        #expect(notes.text.hasSuffix("\r\u{1b}[K\(line)"))
        #expect(results.text == "a result\n")
    }

    @Test func `the rate follows what happens now`() {
        var meter = ProgressMeter(label: "x", total: nil, unit: .items, at: .zero)
        var done: Int64 = 0
        for second in 1...30 {
            done += second <= 15 ? 100 : 10
            meter.record(done, at: .seconds(second))
        }
        #expect(meter.rate(at: .seconds(30)) == 10)
        #expect(meter.timeLeft(at: .seconds(30)) == nil, "nobody knows how much there is")
        #expect(meter.plainLine(at: .seconds(30)) == "x: 1650, 10.0/s")
    }

    @Test(arguments: 20...120)
    func `a line fits its terminal`(columns: Int) {
        var meter = ProgressMeter(label: "adding a tale of many words.mp3", total: 1_000_000_000, unit: .bytes, at: .zero)
        meter.record(123_456_789, at: .seconds(7))
        let line = meter.line(at: .seconds(7), columns: columns, unicode: true)
        #expect(line.columns < columns, "\(line)")
        #expect(line.hasPrefix("adding a"))
    }
}

struct `A live line` {
    private let notes = MemorySink()

    private func line(_ terminal: Terminal, _ change: (inout OutputOptions) -> Void = { _ in }) -> LiveLine {
        var options = OutputOptions()
        change(&options)
        return LiveLine(Console(name: "shelf", diagnostics: terminal, results: MemorySink(), notes: notes).with(options))
    }

    @Test func `has a bar after its first part, and as many parts as fit`() {
        let wide = line(Terminal(isInteractive: true, columns: 60))
        wide.show(["0:30 buffered", "1:00 sent", "segment 7"], fraction: 0.5)
        #expect(notes.text == "0:30 buffered ━━━━━━──────  1:00 sent  segment 7")
        wide.show(["0:00 buffered"], fraction: -1)
        #expect(notes.text.hasSuffix("\r\u{1b}[K0:00 buffered ────────────"))
        wide.finish()
        #expect(notes.text.hasSuffix("\r\u{1b}[K"))
        let length = notes.text.count
        wide.show(["more"])
        wide.finish()
        #expect(notes.text.count == length)
    }

    @Test func `gives its bar and its later parts up on a narrow terminal`() {
        line(Terminal(isInteractive: true, columns: 24, hasUnicode: false)).show(["0:30 buffered", "1:00", "x"], fraction: 2)
        #expect(notes.text.hasPrefix("0:30 buffered  1:00  x"))
        line(Terminal(isInteractive: true, columns: 40, hasUnicode: false)).show(["a"], fraction: 2)
        #expect(notes.text.contains("a ############"))
    }

    @Test func `is drawn on a terminal alone, and not with the options that want another output`() {
        line(Terminal()).show(["no"])
        line(Terminal(isInteractive: true)) { $0.json = true }.show(["no"])
        line(Terminal(isInteractive: true)) { $0.quiet = true }.show(["no"])
        #expect(notes.text == "")
    }
}
