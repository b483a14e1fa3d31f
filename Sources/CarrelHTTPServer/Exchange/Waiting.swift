import CarrelHTTP

/// What a suspended exchange waits for, so that another thread can let go of it.
struct Waiting: Sendable {
    let exchange: Exchange
    let task: Task<Void, Never>?
    let upload: UploadBody?
    let stream: StreamedBody?

    /// Nobody waits for the answer any more: the handler is told, and the connection is let go.
    func abandon() {
        if exchange.markAbandoned() {
            task?.cancel()
            upload?.fail(HTTPError(.clientClosedRequest, "http.cancelled"))
        }
        stream?.close()  // which may not have been there the first time
        exchange.wake()
    }
}
