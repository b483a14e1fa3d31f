// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// The two streams of a console, which share one screen: output of either appears above the live line.
///
/// Writes happen under the lock, including waits for a slow reader: this keeps their order.
final class Screen: Sendable {
    private struct State {
        /// The content of the last line, without a line break.
        var live: String?
        var failure: Int32?
    }

    private let results: any TextSink
    private let notes: any TextSink
    private let state = Locked(State())

    init(results: any TextSink, notes: any TextSink) {
        self.results = results
        self.notes = notes
    }

    /// The `errno` of failed output.
    var failure: Int32? { state.withLock { $0.failure } }

    func result(_ bytes: [UInt8]) {
        state.withLock { state in
            guard state.failure == nil else { return }
            if state.live != nil { emit("\r\u{1b}[K") }
            do throws(SinkFailure) { try results.write(bytes) } catch { state.failure = error.errno }
            if let live = state.live { emit(live) }
        }
    }

    func note(_ text: String) {
        state.withLock { state in
            emit(state.live.map { "\r\u{1b}[K\(text)\($0)" } ?? text)
        }
    }

    func setLive(_ line: String?) {
        state.withLock { state in
            guard state.live != nil || line != nil else { return }
            emit("\(state.live == nil ? "" : "\r\u{1b}[K")\(line ?? "")")
            state.live = line
        }
    }

    /// A failure to write notes cannot be reported.
    private func emit(_ text: String) {
        try? notes.write(Array(text.utf8))
    }
}
