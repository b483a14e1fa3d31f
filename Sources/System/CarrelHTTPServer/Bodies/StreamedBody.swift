// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
internal import CarrelThreads

/// Chunks on their way from an asynchronous producer to the connection's thread. The faster side waits.
final class StreamedBody: Sendable {
    /// The error of a producer's write after the client has gone.
    struct Closed: Error {}

    /// The state for the connection's thread.
    enum Reading {
        case bytes(Int)
        case wait
        case end
        case failed
    }

    @safe
    private struct State {
        var chunks: [[UInt8]] = []
        /// Bytes of the first chunk that have been taken.
        var offset = 0
        var bufferedCount = 0
        var hasEnded = false
        var hasFailed = false
        var isClosed = false
        /// Closed after the last byte of a known length, so that the producer's last write was no failure.
        var isWhole = false
        var task: Task<Void, Never>?
        var writer: UnsafeContinuation<Void, Never>?
    }

    /// Bytes held before the producer has to wait.
    private static let highWater = 128 * 1024

    private let state = Locked(State())
    private let produce: @Sendable (BodyWriter) async throws -> Void
    /// Resumes the connection if it is suspended.
    private let wake: @Sendable () -> Void

    init(_ produce: @escaping @Sendable (BodyWriter) async throws -> Void, wake: @escaping @Sendable () -> Void) {
        self.produce = produce
        self.wake = wake
    }

    /// Starts the producer on the calling thread.
    func start() {
        let task = Task.immediate {
            do {
                try await produce(BodyWriter { try await self.write($0) })
                state.withLock { $0.hasEnded = true }
            } catch {
                state.withLock { $0.hasFailed = true }
            }
            wake()
        }
        let isClosed = state.withLock { state in
            state.task = task
            return state.isClosed
        }
        if isClosed { task.cancel() }
    }

    /// The reader is gone; `isWhole` when everything that was announced has been read.
    func close(isWhole: Bool = false) {
        let (task, writer) = unsafe state.withLock { state in
            state.isClosed = true
            state.isWhole = isWhole
            return unsafe (isWhole ? nil : state.task.take(), state.writer.take())
        }
        task?.cancel()
        unsafe writer?.resume()
    }

    /// Whether there is something for ``read(into:)``.
    var isReady: Bool {
        state.withLock { $0.bufferedCount > 0 || $0.hasEnded || $0.hasFailed || $0.isClosed }
    }

    /// Copies what there is, on the connection's thread.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        let (reading, writer) = unsafe state.withLock { state -> (Reading, UnsafeContinuation<Void, Never>?) in
            var copiedCount = 0
            while copiedCount < buffer.count, let chunk = state.chunks.first {
                let count = min(buffer.count - copiedCount, chunk.count - state.offset)
                unsafe chunk.withUnsafeBytes { source in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[copiedCount...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[state.offset..<state.offset + count]))
                }
                copiedCount += count
                state.offset += count
                if state.offset == chunk.count {
                    state.chunks.removeFirst()
                    state.offset = 0
                }
            }
            state.bufferedCount -= copiedCount
            let writer = state.bufferedCount < Self.highWater ? unsafe state.writer.take() : nil
            if copiedCount > 0 { return unsafe (.bytes(copiedCount), writer) }
            return unsafe (state.hasFailed || state.isClosed ? .failed : state.hasEnded ? .end : .wait, writer)
        }
        unsafe writer?.resume()
        return reading
    }

    private func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return }
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.chunks.append(bytes)
            state.bufferedCount += bytes.count
            return false
        }
        if isClosed { throw Closed() }
        wake()
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                let mayGoOn = state.withLock { state in
                    guard state.bufferedCount >= Self.highWater, !state.isClosed, !Task.isCancelled else { return true }
                    precondition(unsafe state.writer == nil, "two writers of one body")
                    unsafe state.writer = continuation
                    return false
                }
                if mayGoOn { unsafe continuation.resume() }
            }
        } onCancel: {
            unsafe state.withLock { unsafe $0.writer.take() }?.resume()
        }
        if state.withLock({ $0.isClosed && !$0.isWhole }) { throw Closed() }
        try Task.checkCancellation()
    }
}
