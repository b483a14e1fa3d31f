// SPDX-License-Identifier: Apache-2.0

/// Receives the chunks of a streamed response from its producer.
public struct BodyWriter: Sendable {
    private let send: @Sendable ([UInt8]) async throws -> Void

    /// Creates a writer.
    ///
    /// - Parameter send: takes one chunk and returns when there is room for the next; throws when the reader is gone.
    public init(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) {
        self.send = send
    }

    /// Hands over one chunk and waits while the client is slower than the producer.
    ///
    /// - Parameter bytes: the chunk.
    /// - Throws: an error if the client is gone.
    public func write(_ bytes: [UInt8]) async throws {
        try await send(bytes)
    }
}
