// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// Bytes that are made by calls that block, on a thread of their own that waits while the player does.
///
/// There is at most one per request, so that a stalled player occupies a thread of its own session only.
final class ThreadBytes: SegmentBytes {
    private let channel: PieceChannel
    private let work = BlockingWork()
    private let name: String

    /// - Parameters:
    ///   - threads: the threads of the session.
    ///   - name: the resource, as errors show it.
    ///   - make: writes all bytes.
    /// - Throws: `proxy.busy` if there are too many threads or open files.
    init(_ threads: SessionThreads, name: String, _ make: @escaping @Sendable (inout PieceSink) throws -> Void) throws(ProxyError)
    {
        guard let room = BlockingSignal() else { throw ProxyError(.busy, "there are too many open files") }
        let channel = PieceChannel(room)
        self.channel = channel
        self.name = name
        try threads.start(work) { () -> (any Error)? in
            var sink = PieceSink(channel)
            do {
                try make(&sink)
                try sink.flush()
                return nil
            } catch {
                return error
            }
        } finish: { failure in
            channel.end(failure)
        }
    }

    deinit {
        channel.cancel()
        work.cancel()
    }

    func next() async throws -> [UInt8]? {
        do {
            return try await withTaskCancellationHandler {
                try await channel.next()
            } onCancel: {
                work.cancel()
            }
        } catch {
            throw ProxyError(error, in: name)
        }
    }
}

/// Collects the output into pieces.
struct PieceSink: MediaSink {
    private let channel: PieceChannel
    private var held: [UInt8] = []

    private static let pieceLength = 128 << 10

    fileprivate init(_ channel: PieceChannel) {
        self.channel = channel
    }

    mutating func write(_ bytes: RawSpan) throws {
        held.append(copying: bytes)
        if held.count >= Self.pieceLength { try flush() }
    }

    mutating func flush() throws {
        guard !held.isEmpty else { return }
        var piece: [UInt8] = []
        swap(&piece, &held)
        try channel.send(piece)
    }

    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) throws {
        throw MediaError(.unsupported, "a segment is written in order")
    }

    var isSequential: Bool { true }
}

/// Hands pieces from a thread to a task, one at a time.
private final class PieceChannel: Sendable {
    private struct State {
        var piece: [UInt8]?
        var isEnded = false
        var isCancelled = false
        var failure: (any Error)?
        /// The task that waits for a piece.
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())
    private let room: BlockingSignal

    init(_ room: BlockingSignal) {
        self.room = room
    }

    /// Delivers a piece, and waits until the previous one was taken.
    func send(_ piece: [UInt8]) throws {
        while true {
            let (isDone, waiting) = try state.withLock { state throws(CancellationError) in
                if state.isCancelled { throw CancellationError() }
                guard state.piece == nil else { return (false, nil as CheckedContinuation<Void, Never>?) }
                state.piece = piece
                return (true, state.waiting.take())
            }
            waiting?.resume()
            if isDone { return }
            room.wait()
        }
    }

    /// Says that no piece follows.
    func end(_ failure: (any Error)?) {
        let waiting = state.withLock { state in
            state.isEnded = true
            state.failure = failure
            return state.waiting.take()
        }
        waiting?.resume()
    }

    /// Makes the next `send` fail.
    func cancel() {
        let waiting = state.withLock { state in
            state.isCancelled = true
            return state.waiting.take()
        }
        waiting?.resume()
        room.signal()
    }

    func next() async throws -> [UInt8]? {
        while true {
            let known = try state.withLock { state throws in
                if let piece = state.piece.take() { return piece as [UInt8]? }
                if let failure = state.failure { throw failure }
                return state.isEnded ? [] : nil
            }
            if let known {
                room.signal()
                return known.isEmpty ? nil : known
            }
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isReady = state.withLock { state in
                        if state.piece != nil || state.isEnded || state.isCancelled { return true }
                        state.waiting = continuation
                        return false
                    }
                    if isReady { continuation.resume() }
                }
            } onCancel: {
                cancel()
            }
        }
    }
}
