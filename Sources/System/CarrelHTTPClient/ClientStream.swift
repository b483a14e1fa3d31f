// SPDX-License-Identifier: Apache-2.0

/// A response whose body is taken chunk by chunk. What is not taken makes the server wait; releasing the value cancels the rest.
public final class ClientStream: Sendable {
    /// Status and fields; its body is empty.
    public let response: ClientResponse
    private let exchange: ClientExchange
    /// Closed by its last owner, which would end the transfer.
    private let loop: LazyLoop

    init(_ response: ClientResponse, _ exchange: ClientExchange, _ loop: LazyLoop) {
        self.response = response
        self.exchange = exchange
        self.loop = loop
    }

    deinit {
        exchange.cancel()
    }

    /// The next bytes, at most about 256 KiB; nil at the end. One caller at a time.
    ///
    /// - Throws: ``HTTPClientError`` if the transfer fails.
    public func next() async throws(HTTPClientError) -> [UInt8]? {
        try await exchange.chunk()
    }

    /// Ends the transfer; a waiting `next()` throws `client.cancelled`.
    public func cancel() {
        exchange.cancel()
    }
}
