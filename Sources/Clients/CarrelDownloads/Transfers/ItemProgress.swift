// SPDX-License-Identifier: Apache-2.0

import CarrelSavedMedia
import CarrelThreads

/// The media of an item that are durable: bytes and time.
final class ItemProgress: Sendable {
    struct Part: Sendable {
        let selection: DownloadEvent.Selection
        let expected: Duration
        var loaded = Duration.zero
        var missing: Int
    }

    /// The sizes of the item, and the selections that pieces were of.
    struct Step: Sendable {
        var done: Int64
        var total: Int64
        /// The selections that changed.
        var parts: [Part]
    }

    private struct State: Sendable {
        var parts: [Part]
        var done: Int64 = 0
        var doneTime = Duration.zero
    }

    private let expectedBytes: Int64
    private let expectedTime: Duration
    private let pieces: [SavedPieceName: SavedPiece]
    private let state: Locked<State>

    /// - Parameters:
    ///   - streams: the streams of the plan.
    ///   - expectedBytes: the bytes of all pieces, as far as the plan knows; 0 if it does not.
    init(_ streams: [SavedStream], expectedBytes: Int64) {
        var pieces: [SavedPieceName: SavedPiece] = [:]
        var parts: [Part] = []
        for (index, stream) in streams.enumerated() {
            for (piece, name) in zip(stream.pieces, stream.names(stream: index)) { pieces[name] = piece }
            let selection = DownloadEvent.Selection(index: index, kind: "\(stream.kind)", label: stream.language ?? "")
            let expected = stream.pieces.reduce(Duration.zero) { $0 + $1.duration }
            parts.append(Part(selection: selection, expected: expected, missing: stream.pieces.count))
        }
        self.pieces = pieces
        self.expectedBytes = expectedBytes
        expectedTime = parts.reduce(.zero) { $0 + $1.expected }
        state = Locked(State(parts: parts))
    }

    /// Adds durable pieces.
    ///
    /// - Returns: the sizes, and the selections of the pieces.
    func add(_ stored: [(name: SavedPieceName, digest: SavedDigest)]) -> Step {
        state.withLock { state in
            var changed: Set<Int> = []
            for (name, digest) in stored {
                let duration = pieces[name]?.duration ?? .zero
                state.parts[name.stream].loaded += duration
                state.parts[name.stream].missing -= 1
                state.done += digest.length
                state.doneTime += duration
                changed.insert(name.stream)
            }
            return Step(done: state.done, total: total(state), parts: changed.sorted().map { state.parts[$0] })
        }
    }

    /// Bytes of all pieces: of those that are known, and at the same rate for the rest.
    private func total(_ state: State) -> Int64 {
        if state.parts.allSatisfy({ $0.missing == 0 }) { return state.done }
        let share = expectedTime > .zero ? state.doneTime / expectedTime : 0
        guard share > 0.02, state.done > 0 else { return max(expectedBytes, state.done) }
        return max(state.done, Int64(min(Double(state.done) / share, 1e17)))
    }

    var done: Int64 { state.withLock { $0.done } }
    var total: Int64 { state.withLock { total($0) } }
}
