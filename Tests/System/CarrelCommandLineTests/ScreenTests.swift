// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Testing

@testable import CarrelCommandLine

/// A terminal that keeps its lines: carriage return, line feed, and the two controls that live lines use.
private struct TerminalScreen {
    private(set) var lines = [""]
    private var row = 0
    private var column = 0

    init(_ text: String) {
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "\r": column = 0
            case "\n":
                (row, column) = (row + 1, 0)
                if row == lines.count { lines.append("") }
            case "\u{1b}" where rest.hasPrefix("[K"):
                rest.removeFirst(2)
                lines[row] = String(lines[row].prefix(column))
            case "\u{1b}" where rest.hasPrefix("[A"):
                rest.removeFirst(2)
                row = max(0, row - 1)
            case "\u{1b}": rest = rest.drop { !$0.isLetter }.dropFirst()
            default:
                lines[row] = lines[row].padded(to: column).prefix(column) + "\(character)" + lines[row].dropFirst(column + 1)
                column += 1
            }
        }
    }
}

struct `Several live lines` {
    private let notes = MemorySink()
    private let console: Console

    init() {
        let terminal = Terminal(isInteractive: true, columns: 40, rows: 4, hasUnicode: false)
        console = Console(name: "shelf", diagnostics: terminal, results: notes, notes: notes, now: { .seconds(1) })
    }

    private var lines: [String] { TerminalScreen(notes.text).lines }

    @Test func `are drawn below notes and results, in the order in which they were made`() {
        let (first, second) = (LiveLine(console), LiveLine(console))
        second.show(["second"])
        first.show(["first"])
        #expect(lines == ["first", "second"])
        console.note("a note")
        console.print("a result")
        first.show(["first again"])
        #expect(lines == ["a note", "a result", "first again", "second"])
        first.finish()
        console.warning("careful")
        #expect(lines == ["a note", "a result", "shelf: warning: careful", "second"])
        second.finish()
        #expect(lines.filter { !$0.isEmpty } == ["a note", "a result", "shelf: warning: careful"])
    }

    @Test func `are bars that advance and end by themselves`() {
        let bars = ["one", "two"].map { console.progress($0, totalItems: 4) }
        for bar in bars { bar.advance(to: 2) }
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("one #") && lines[0].contains("50 %"))
        #expect(lines[1].hasPrefix("two #"))
        bars[0].finish("one is there")
        #expect(lines.count >= 2)
        #expect(lines[0] == "one is there")
        #expect(lines[1].hasPrefix("two #"))
        bars[1].finish()
        #expect(lines[1] == "")
    }

    @Test func `never fill the terminal, which would scroll at each drawing`() {
        let shown = (0..<6).map { _ in LiveLine(console) }
        for (number, line) in shown.enumerated() { line.show(["line \(number)"]) }
        #expect(lines == ["line 0", "line 1", "line 2"])
        shown[1].finish()
        #expect(lines == ["line 0", "line 2", "line 3"])
    }

    @Test func `have parts with styles of their own on a terminal with color alone`() {
        console.note([("plain", nil), ("red\u{7}", .red)])
        #expect(notes.text.hasPrefix("plain red") && !notes.text.contains("\u{1b}[31m") && !notes.text.contains("\u{7}"))
        let colored = Console(
            name: "shelf",
            diagnostics: Terminal(isInteractive: true, hasColor: true),
            results: MemorySink(),
            notes: notes
        )
        colored.note([("plain", nil), ("blue", .blue)])
        #expect(notes.text.hasSuffix("plain \u{1b}[34mblue\u{1b}[0m\n"))
    }
}
