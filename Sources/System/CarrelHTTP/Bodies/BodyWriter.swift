// SPDX-License-Identifier: Apache-2.0

/// Receives the chunks of a streamed response from its producer.
public struct BodyWriter: Sendable {
    private let send: @Sendable ([UInt8]) async throws -> Void

    /// - Parameter send: sends one chunk and returns when there is room for the next; throws if the reader is gone.
    public init(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) {
        self.send = send
    }

    /// Sends one chunk and waits while the client is slower than the producer.
    public func write(_ bytes: [UInt8]) async throws {
        try await send(bytes)
    }
}
