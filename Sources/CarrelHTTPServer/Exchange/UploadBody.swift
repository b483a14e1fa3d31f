import CarrelHTTP
internal import CarrelThreads

/// A request's body on its way from the connection's thread to the handler. When the handler is slower than the client, the
/// connection is suspended.
final class UploadBody: RequestBodySource {
    @safe
    private struct State {
        var chunks: [[UInt8]] = []
        var held = 0
        var isWhole = false
        var failure: HTTPError?
        var reader: UnsafeContinuation<Void, Never>?
    }

    /// Bytes held before the client has to wait.
    private static let enough = 256 * 1024

    private let state = Locked(State())
    /// Resumes the connection if it is suspended.
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// Whether the handler has enough to read.
    var isFull: Bool { state.withLock { $0.held >= Self.enough && $0.failure == nil } }

    func append(_ bytes: [UInt8]) {
        resumeReader { state in
            state.chunks.append(bytes)
            state.held += bytes.count
        }
    }

    func finish() {
        resumeReader { $0.isWhole = true }
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
            let (chunk, isEnd, failure) = state.withLock { state -> ([UInt8]?, Bool, HTTPError?) in
                guard !state.chunks.isEmpty else { return (nil, state.isWhole, state.failure) }
                let chunk = state.chunks.count == 1 ? state.chunks[0] : Array(state.chunks.joined())
                state.chunks.removeAll(keepingCapacity: true)
                state.held = 0
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
