// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
internal import CarrelThreads

/// A request's body on its way from the connection's thread to the handler. When the handler is slower than the client, the
/// connection is suspended.
final class UploadBody: RequestBodySource {
    @safe
    private struct State {
        var chunks: [[UInt8]] = []
        var bufferedCount = 0
        /// Bytes of the chunk that the handler has in hand, and of those that it keeps.
        var lentCount = 0
        var keptCount = 0
        var isReleased = false
        var isWhole = false
        var failure: HTTPError?
        var reader: UnsafeContinuation<Void, Never>?
    }

    /// Bytes held before the client has to wait.
    private static let highWater = 256 * 1024

    private let state = Locked(State())
    private let budget: BodyBudget
    private let network: ClientNetwork?
    /// Resumes the connection if it is suspended.
    private let wake: @Sendable () -> Void

    init(_ budget: BodyBudget, _ network: ClientNetwork?, wake: @escaping @Sendable () -> Void) {
        self.budget = budget
        self.network = network
        self.wake = wake
    }

    deinit {
        release()
    }

    /// Whether the handler has enough to read.
    var isFull: Bool { state.withLock { $0.bufferedCount >= Self.highWater && $0.failure == nil } }

    /// Adds the next bytes; if there is no room for them, the handler receives an error instead of the rest.
    func append(_ bytes: [UInt8]) {
        guard state.withLock({ $0.failure == nil }) else { return }
        guard budget.take(bytes.count, network) else {
            fail(
                HTTPError(
                    .serviceUnavailable,
                    "http.body-memory",
                    "the requests' bodies take all the memory that they may: try again",
                    headers: ["Retry-After": "5"]
                )
            )
            return
        }
        var isWanted = true
        resumeReader { state in
            guard !state.isReleased else {
                isWanted = false
                return
            }
            state.chunks.append(bytes)
            state.bufferedCount += bytes.count
        }
        if !isWanted { budget.giveBack(bytes.count, network) }
    }

    /// The handler keeps that many of the bytes that it was given last.
    func keep(_ byteCount: Int) {
        state.withLock { state in
            let count = min(byteCount, state.lentCount)
            state.lentCount -= count
            state.keptCount += count
        }
    }

    /// The handler is done with the body.
    func release() {
        let count = state.withLock { state in
            guard !state.isReleased else { return 0 }
            state.isReleased = true
            defer { (state.bufferedCount, state.lentCount, state.keptCount, state.chunks) = (0, 0, 0, []) }
            return state.bufferedCount + state.lentCount + state.keptCount
        }
        budget.giveBack(count, network)
    }

    func finish() {
        resumeReader { if $0.failure == nil { $0.isWhole = true } }
    }

    /// Nothing more will come.
    func fail(_ error: HTTPError) {
        resumeReader { if !$0.isWhole, $0.failure == nil { $0.failure = error } }
    }

    private func resumeReader(after change: (inout State) -> Void) {
        let reader = unsafe state.withLock { state in
            change(&state)
            return unsafe state.reader.take()
        }
        unsafe reader?.resume()
    }

    func next() async throws(HTTPError) -> [UInt8]? {
        while true {
            let count = state.withLock { state in
                defer { state.lentCount = 0 }
                return state.lentCount
            }
            budget.giveBack(count, network)
            let (chunk, isEnd, failure) = state.withLock { state -> ([UInt8]?, Bool, HTTPError?) in
                guard !state.chunks.isEmpty else { return (nil, state.isWhole, state.failure) }
                let chunk = state.chunks.count == 1 ? state.chunks[0] : Array(state.chunks.joined())
                state.chunks.removeAll(keepingCapacity: true)
                state.lentCount = state.bufferedCount
                state.bufferedCount = 0
                return (chunk, false, nil)
            }
            if let chunk {
                wake()
                return chunk
            }
            if isEnd { return nil }
            if let failure { throw failure }
            if Task.isCancelled { throw HTTPError(.clientClosedRequest, "http.cancelled") }
            await waitForMore()
        }
    }

    private func waitForMore() async {
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.chunks.isEmpty, !state.isWhole, state.failure == nil, !Task.isCancelled else { return true }
                    precondition(unsafe state.reader == nil, "two readers of one body")
                    unsafe state.reader = continuation
                    return false
                }
                if isReady { unsafe continuation.resume() }
            }
        } onCancel: {
            resumeReader { _ in }
        }
    }
}
