// SPDX-License-Identifier: Apache-2.0

/// One request and its response, from the side of the task that made it.
final class ClientExchange: Sendable {
    private let transfer: Transfer
    private let loop: CurlLoop
    private let feeding: Task<Void, Never>?

    /// Starts the transfer.
    init(_ transfer: Transfer, _ loop: CurlLoop) {
        self.transfer = transfer
        self.loop = loop
        loop.add(transfer)
        feeding = transfer.upload.startFeeding { loop.resume(transfer) }
    }

    func cancel() {
        loop.cancel(transfer)
    }

    /// Waits for the head.
    func head() async throws(HTTPClientError) -> ClientResponse {
        let result: Result<ClientResponse, HTTPClientError> = await wait { state in
            if let response = state.response { return .success(response) }
            return state.outcome.map { .failure($0.failure ?? HTTPClientError(.head, "the response has no head")) }
        }
        if case .failure = result { await stopFeeding() }
        return try result.get()
    }

    /// Waits for the next bytes; nil at the end.
    func chunk() async throws(HTTPClientError) -> [UInt8]? {
        let (result, wasPaused): (Result<[UInt8]?, HTTPClientError>, Bool) = await wait { state in
            guard state.buffer.isEmpty else {
                defer {
                    state.buffer = []
                    state.isPaused = false
                }
                return (.success(state.buffer), state.isPaused)
            }
            return state.outcome.map { ($0.map { nil }, false) }
        }
        if wasPaused { loop.resume(transfer) }
        guard case .success(.some) = result else {
            await stopFeeding()
            return try result.get()
        }
        return try result.get()
    }

    /// Waits for the end, and returns the response with the rest of its body.
    func end() async throws(HTTPClientError) -> ClientResponse {
        let result: Result<ClientResponse, HTTPClientError> = await wait { state in
            switch state.outcome {
            case .none: return nil
            case .failure(let error): return .failure(error)
            case .success:
                guard var response = state.response else { return .failure(HTTPClientError(.head, "the response has no head")) }
                response.body = state.buffer
                response.bytesReceived = state.receivedCount
                return .success(response)
            }
        }
        await stopFeeding()
        return try result.get()
    }

    private func wait<Taken: Sendable>(_ take: @Sendable (inout Transfer.State) -> Taken?) async -> Taken {
        await transfer.wait(cancel: { [self] in cancel() }, take)
    }

    /// The body's closure is not running any more when the request has ended.
    private func stopFeeding() async {
        feeding?.cancel()
        await feeding?.value
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
