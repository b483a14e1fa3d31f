// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import CarrelHTTP
import CarrelThreads

/// Gives libcurl the bytes of a request's body.
final class Upload: Sendable {
    enum Answer {
        /// So many bytes; 0 is the end.
        case wrote(Int)
        /// No data yet; the loop is resumed when there is.
        case pause
        case abort
    }

    private struct State: Sendable {
        /// Bytes given so far.
        var position: Int64 = 0
        /// The chunk of a stream being sent, and the number of its bytes already sent.
        var chunk: [UInt8] = []
        var sentCount = 0
        var hasEnded = false
        var hasFailed = false
        /// Whether libcurl waits for a chunk.
        var waits = false
        /// The feeding task, waiting until the chunk is taken.
        var feeder: CheckedContinuation<Void, Never>?
    }

    private let body: ClientRequestBody
    private let state = Locked(State())

    init(_ body: ClientRequestBody) {
        self.body = body
    }

    /// Bytes in all; nil if that is not known.
    var length: Int64? {
        switch body {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let range): range.upperBound - range.lowerBound
        case .stream(let length, _): length
        }
    }

    /// Whether the body ended early or failed, which ends the transfer.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    // MARK: - on the loop's thread

    func provide(into room: UnsafeMutableRawBufferPointer) -> Answer {
        switch body {
        case .none:
            return .wrote(0)
        case .bytes(let bytes):
            return state.withLock { state in
                let count = min(room.count, bytes.count - Int(state.position))
                unsafe bytes.withUnsafeBytes { all in
                    unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[Int(state.position)...].prefix(count)))
                }
                state.position += Int64(count)
                return .wrote(count)
            }
        case .file(let file, let range):
            return unsafe provide(from: file, range, into: room)
        case .stream(let length, _):
            return unsafe provideChunk(length, into: room)
        }
    }

    private func provide(from file: OpenFile, _ range: Range<Int64>, into room: UnsafeMutableRawBufferPointer) -> Answer {
        state.withLock { state in
            let offset = range.lowerBound + state.position
            let limit = Int(min(Int64(room.count), range.upperBound - offset))
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<limit])
            guard let count = try? unsafe file.file.read(at: offset, into: part), count > 0 || limit == 0 else {
                state.hasFailed = true
                return .abort
            }
            state.position += Int64(count)
            return .wrote(count)
        }
    }

    private func provideChunk(_ length: Int64?, into room: UnsafeMutableRawBufferPointer) -> Answer {
        let (answer, feeder): (Answer, CheckedContinuation<Void, Never>?) = state.withLock { state in
            if state.hasFailed { return (.abort, nil) }
            let count = min(room.count, state.chunk.count - state.sentCount)
            guard count > 0 else {
                if state.hasEnded, length == nil || state.position == length { return (.wrote(0), nil) }
                state.hasFailed = state.hasEnded
                state.waits = !state.hasEnded
                return (state.hasEnded ? .abort : .pause, nil)
            }
            if let length, state.position + Int64(count) > length {
                state.hasFailed = true
                return (.abort, nil)
            }
            unsafe state.chunk.withUnsafeBytes { all in
                unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[state.sentCount...].prefix(count)))
            }
            state.sentCount += count
            state.position += Int64(count)
            guard state.sentCount == state.chunk.count else { return (.wrote(count), nil) }
            defer { state.feeder = nil }
            return (.wrote(count), state.feeder)
        }
        feeder?.resume()
        return answer
    }

    /// Goes back, for sending the body again on another connection. A stream cannot.
    func rewind(to offset: Int64) -> Bool {
        if case .stream = body { return state.withLock { $0.position == offset } }
        guard let length, (0...length).contains(offset) else { return false }
        state.withLock { $0.position = offset }
        return true
    }

    // MARK: - in the request's task

    /// Starts requesting chunks from a stream; nil for any other body. `resume` notifies the loop of data to send.
    func startFeeding(_ resume: @escaping @Sendable () -> Void) -> Task<Void, Never>? {
        guard case .stream(_, let next) = body else { return nil }
        return Task {
            do {
                while let chunk = try await next() {
                    if Task.isCancelled { return }
                    if !chunk.isEmpty { await feed(chunk, resume) }
                }
                end(hasFailed: false, resume)
            } catch {
                end(hasFailed: true, resume)
            }
        }
    }

    /// Offers a chunk and waits until it is taken, or the task is cancelled.
    private func feed(_ chunk: [UInt8], _ resume: @Sendable () -> Void) async {
        let waits = state.withLock { state in
            defer { state.waits = false }
            state.chunk = chunk
            state.sentCount = 0
            return state.waits
        }
        if waits { resume() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isTaken = state.withLock { state in
                    if Task.isCancelled || state.sentCount == state.chunk.count { return true }
                    state.feeder = continuation
                    return false
                }
                if isTaken { continuation.resume() }
            }
        } onCancel: {
            let feeder = state.withLock { state in
                defer { state.feeder = nil }
                return state.feeder
            }
            feeder?.resume()
        }
    }

    private func end(hasFailed: Bool, _ resume: @Sendable () -> Void) {
        state.withLock { state in
            state.hasEnded = true
            state.hasFailed = state.hasFailed || hasFailed
        }
        resume()
    }
}
