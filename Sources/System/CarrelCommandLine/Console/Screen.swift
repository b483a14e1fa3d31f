// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// The two streams of a console, which share one screen: output of either appears above the live lines.
///
/// Writes happen under the lock, including waits for a slow reader: this keeps their order.
final class Screen: Sendable {
    /// Identifies a live line.
    struct LineID: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State {
        /// The contents of the last lines, without line breaks, the highest first.
        var lines: [(id: LineID, text: String)] = []
        /// The number of lines on the screen.
        var drawn = 0
        var created = 0
        var failure: Int32?
    }

    private let results: any TextSink
    private let notes: any TextSink
    /// The number of live lines on the screen, at most; the first lines are drawn.
    private let limit: Int
    private let state = Locked(State())

    init(results: any TextSink, notes: any TextSink, rows: Int = Terminal().rows) {
        self.results = results
        self.notes = notes
        // a line more than the screen has would scroll at each drawing
        limit = max(1, rows - 1)
    }

    /// The `errno` of failed output.
    var failure: Int32? { state.withLock { $0.failure } }

    func result(_ bytes: [UInt8]) {
        state.withLock { state in
            guard state.failure == nil else { return }
            if state.drawn > 0 { emit(erase(&state)) }
            do throws(SinkFailure) { try results.write(bytes) } catch { state.failure = error.errno }
            if !state.lines.isEmpty { emit(draw(&state)) }
        }
    }

    func note(_ text: String) {
        state.withLock { state in emit("\(erase(&state))\(text)\(draw(&state))") }
    }

    /// Returns the identity of a further live line. It is drawn below the others once it has a text.
    func makeLine() -> LineID {
        state.withLock { state in
            state.created += 1
            return LineID(number: state.created)
        }
    }

    /// Replaces a live line.
    ///
    /// - Parameters:
    ///   - id: the line.
    ///   - text: its content; nil removes it.
    func setLine(_ id: LineID, _ text: String?) {
        state.withLock { state in
            let place = state.lines.firstIndex { $0.id == id }
            guard place != nil || text != nil else { return }
            let before = erase(&state)
            switch (place, text) {
            case (let place?, let text?): state.lines[place].text = text
            case (let place?, nil): state.lines.remove(at: place)
            case (nil, let text?):
                // lines stay in the order in which they were made
                let next = state.lines.firstIndex { $0.id.number > id.number } ?? state.lines.endIndex
                state.lines.insert((id, text), at: next)
            case (nil, nil): break
            }
            emit(before + draw(&state))
        }
    }

    /// The text that removes the live lines from the screen (ECMA-48 §8.3.22, §8.3.41); the cursor is then at the start of the first.
    private func erase(_ state: inout State) -> String {
        defer { state.drawn = 0 }
        guard state.drawn > 0 else { return "" }
        return "\r\u{1b}[K" + String(repeating: "\u{1b}[A\u{1b}[K", count: state.drawn - 1)
    }

    /// The text that draws them again.
    private func draw(_ state: inout State) -> String {
        let lines = state.lines.prefix(limit)
        state.drawn = lines.count
        return lines.map(\.text).joined(separator: "\n")
    }

    /// A failure to write notes cannot be reported.
    private func emit(_ text: String) {
        try? notes.write(Array(text.utf8))
    }
}
