// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelThreads

/// An HTTP client: HTTP/1.1, HTTP/2 on encrypted connections, connections kept, certificates always checked, all on one thread.
///
/// Every request has time limits and a longest response. Cancelling the task ends a request within milliseconds.
public final class HTTPClient: Sendable {
    private let configuration: HTTPClientConfiguration
    private let loop: LazyLoop

    /// Creates a client with its own connections and threads.
    ///
    /// - Parameter configuration: the settings of all its requests.
    public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        self.configuration = configuration
        loop = LazyLoop(configuration)
    }

    /// Sends a request and collects the response. Any status is a response, not an error.
    ///
    /// - Parameter request: the request.
    /// - Returns: the response, with its whole body.
    /// - Throws: ``HTTPClientError`` if there is no response, or if its body exceeds the request's limit.
    public func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        try await follow(request) { request throws(HTTPClientError) in
            let response = try await start(request, .collect).end()
            return (response, response)
        }
    }

    /// Sends a request and returns when the response's head is there; the caller takes the body chunk by chunk.
    ///
    /// - Parameter request: the request.
    /// - Returns: the response's head, and its body as a stream.
    /// - Throws: ``HTTPClientError`` if there is no response.
    public func open(_ request: ClientRequest) async throws(HTTPClientError) -> ClientStream {
        try await follow(request) { request throws(HTTPClientError) in
            let exchange = try start(request, .stream)
            let response = try await exchange.head()
            return (response, ClientStream(response, exchange, loop))
        }
    }

    /// Sends a request and passes the body on chunk by chunk as it arrives; a slow consumer makes the server wait.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - onHead: receives the response's status and fields before the first chunk; throwing ends the transfer.
    ///   - onChunk: receives the bytes in order, at most about 256 KiB at a time; throwing ends the transfer.
    /// - Returns: the response, without a body.
    /// - Throws: ``HTTPClientError``, or errors of the closures.
    @discardableResult
    public func stream(
        _ request: ClientRequest,
        onHead: (ClientResponse) async throws -> Void = { _ in },
        onChunk: (RawSpan) async throws -> Void
    ) async throws -> ClientResponse {
        let stream = try await open(request)
        try await onHead(stream.response)
        var response = stream.response
        while let chunk = try await stream.next() {
            response.bytesReceived += Int64(chunk.count)
            try await onChunk(chunk.rawSpan)
        }
        return response
    }

    /// Sends a request and writes the body of a successful response (2xx) into a regular file as it arrives, which is the
    /// cheapest way.
    ///
    /// With an offset the download continues there: the request has a range from the offset, and a response with other bytes
    /// (`client.range`) writes nothing. With a validator too, a resource that changed is written from the beginning (status 200).
    /// The body of an unsuccessful response, its first 64 KiB, is in the response and not in the file.
    /// - Parameters:
    ///   - request: the request.
    ///   - descriptor: open for writing; borrowed until the call returns.
    ///   - offset: the file position of the first byte.
    ///   - validator: the strong `ETag`, or the `Last-Modified` date, of the response that the file's bytes are from, sent as `If-Range`
    ///     (RFC 9110 §13.1.5); nil if the resource cannot have changed.
    /// - Returns: the response; `bytesReceived` is the number of bytes written.
    /// - Throws: `client.write` if the file cannot be written; bytes that arrived before an error are in the file.
    public func download(
        _ request: ClientRequest,
        to descriptor: Int32,
        resumingAt offset: Int64 = 0,
        ifUnchanged validator: String? = nil
    ) async throws(HTTPClientError) -> ClientResponse {
        var request = request
        if offset > 0 {
            request.range = .from(offset)
            if let validator { request.headers["If-Range"] = validator }
        }
        return try await follow(request) { request throws(HTTPClientError) in
            let sink = Transfer.Sink.file(descriptor, Transfer.Continuation(offset: offset, validator: validator))
            let response = try await start(request, sink).end()
            return (response, response)
        }
    }

    /// Makes the request, and those that redirects lead to, within the total time.
    private func follow<Made>(
        _ request: ClientRequest,
        _ make: (ClientRequest) async throws(HTTPClientError) -> (ClientResponse, Made)
    ) async throws(HTTPClientError) -> Made {
        let deadline = ContinuousClock.now + request.timeouts.total
        var request = request
        let mayFollow = request.maxRedirects > 0
        while true {
            let (response, result) = try await make(request)
            guard mayFollow, Redirect.leads(response.status, response.headers) else { return result }
            guard request.maxRedirects > 0 else { throw HTTPClientError(.redirect, "there are too many redirects") }
            request = try Redirect.next(request, after: response)
            request.timeouts.total = ContinuousClock.now.duration(to: deadline)
            guard request.timeouts.total > .zero else { throw HTTPClientError(.timeout, "the redirects took too long") }
        }
    }

    private func start(_ request: ClientRequest, _ sink: Transfer.Sink) throws(HTTPClientError) -> ClientExchange {
        let loop = try loop.start()
        guard let easy = loop.easyHandle() else { throw HTTPClientError(.failed, "there is no memory for a request") }
        try easy.configure(request, configuration)
        let transfer = Transfer(
            request,
            sink: sink,
            easy: easy,
            addresses: request.addresses ?? configuration.addresses,
            loop: loop
        )
        easy.connect(to: transfer)
        return ClientExchange(transfer, loop)
    }
}
