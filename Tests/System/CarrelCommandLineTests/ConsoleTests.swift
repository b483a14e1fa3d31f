// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc
import Testing

@testable import CarrelCommandLine

struct `The console` {
    private static func console(
        _ terminal: Terminal = Terminal(),
        _ results: any TextSink = MemorySink(),
        _ notes: any TextSink = MemorySink(),
        now: @escaping @Sendable () -> Duration = { .zero }
    ) -> Console {
        Console(name: "shelf", output: terminal, diagnostics: terminal, results: results, notes: notes, now: now)
    }

    @Test func `colors errors on a terminal that can, and only there`() {
        let notes = MemorySink()
        Self.console(Terminal(isInteractive: true, hasColor: true), MemorySink(), notes).error("no", hint: "yes")
        #expect(notes.text == "shelf: \u{1b}[31merror:\u{1b}[0m no\nshelf: \u{1b}[1mhint:\u{1b}[0m yes\n")
        let plain = MemorySink()
        Self.console(Terminal(isInteractive: true), MemorySink(), plain).error("no", hint: "yes")
        #expect(plain.text == "shelf: error: no\nshelf: hint: yes\n")
    }

    @Test func `untrusted text cannot command the terminal`() {
        let notes = MemorySink()
        Self.console(Terminal(), MemorySink(), notes).note("a\u{1b}[2Jb\u{9b}c\u{202e}d\re\nf")
        #expect(notes.text == "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{d}e f\n")
        #expect("héllo – 三体 👩‍🚀".printable == "héllo – 三体 👩‍🚀")
    }

    @Test func `quiet silences notes and warnings, never errors and results`() {
        let results = MemorySink()
        let notes = MemorySink()
        var options = OutputOptions()
        options.quiet = true
        let console = Self.console(Terminal(), results, notes).with(options)
        console.note("note")
        console.warning("warning")
        console.error("error")
        console.print("result")
        #expect(notes.text == "shelf: error: error\n")
        #expect(results.text == "result\n")
    }

    @Test func `a reader that stops reading ends a program quietly`() async {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        close(ends[0])
        defer { close(ends[1]) }
        let notes = MemorySink()
        let console = Self.console(Terminal(), FileSink(descriptor: ends[1]), notes)
        #expect(await Shelf.program.run(["order", "list"], on: console) == .outputClosed)
        #expect(console.isOutputClosed)
        #expect(notes.text == "")
    }

    @Test func `a full disk under the results is an error`() async {
        let full = unsafe open("/dev/full", O_WRONLY)
        defer { close(full) }
        let notes = MemorySink()
        let console = Self.console(Terminal(), FileSink(descriptor: full), notes)
        #expect(await Shelf.program.run(["order", "list"], on: console) == .inputOutput)
        #expect(notes.text == "shelf: error: writing the results failed: No space left on device\n")
    }

    @Test func `a slow reader of a non-blocking pipe gets everything`() async throws {
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        let (reader, writer) = (ends[0], ends[1])
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        let threads = BlockingThreadPool(name: "reader", count: 1)
        async let received = threads.run { () -> Int in
            var total = 0
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe read(reader, &buffer, buffer.count)
                if count <= 0 { return total }
                total += count
            }
        }
        try FileSink(descriptor: writer).write([UInt8](repeating: 65, count: 1_000_000))
        close(writer)
        #expect(try await received == 1_000_000)
        close(reader)
    }

    @Test func `knows what kind of terminal a file is`() throws {
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        defer { close(ends[0]); close(ends[1]) }
        let piped = Terminal(descriptor: ends[1], environment: ["LANG": "C.UTF-8", "COLUMNS": "132"])
        #expect(piped == Terminal(isInteractive: false, columns: 132, hasColor: false, hasUnicode: true))
        let tty = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        try #require(tty >= 0)
        defer { close(tty) }
        var size = winsize(ws_row: 24, ws_col: 97, ws_xpixel: 0, ws_ypixel: 0)
        _ = unsafe ioctl(tty, UInt(TIOCSWINSZ), &size)
        #expect(
            Terminal(descriptor: tty, environment: [:])
                == Terminal(isInteractive: true, columns: 97, hasColor: true, hasUnicode: false)
        )
        #expect(!Terminal(descriptor: tty, environment: ["NO_COLOR": "1"]).hasColor)
        #expect(!Terminal(descriptor: tty, environment: ["TERM": "dumb"]).hasColor)
    }
}

struct `A table` {
    private static let table = {
        var table = TextTable([.init("id"), .init("title", canShrink: true), .init("length", isNumeric: true)])
        table.add(["1", "A Tale of Two Cities", "15:07"])
        table.add(["22", "三体", "9:59:59"])
        return table
    }()

    @Test func `aligns words on the left and numbers on the right, by columns and not by letters`() {
        #expect(
            Self.table.text(width: nil) == """
                ID  TITLE                  LENGTH
                1   A Tale of Two Cities    15:07
                22  三体                  9:59:59
                """
        )
    }

    @Test func `without titles begins with its first row`() {
        var table = TextTable([.init(""), .init("")])
        table.add(["title", "A Tale"])
        table.add(["by", "Nobody"])
        #expect(
            table.text(width: nil) == """
                title  A Tale
                by     Nobody
                """
        )
    }

    @Test func `cuts what may be cut to fit a terminal`() {
        #expect(
            Self.table.text(width: 24) == """
                ID  TITLE         LENGTH
                1   A Tale of …    15:07
                22  三体         9:59:59
                """
        )
    }

    @Test(arguments: [("abc", 3), ("é", 1), ("e\u{301}", 1), ("三", 2), ("👩‍🚀", 2), ("a\u{200b}", 1), ("ｱ", 1), ("", 0)])
    func `counts columns as a terminal does`(text: String, columns: Int) {
        #expect(text.columns == columns)
    }
}
