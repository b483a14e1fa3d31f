// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP

/// The body of a request.
public enum ClientRequestBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory, sent with `Content-Length`.
    case bytes([UInt8])
    /// A part of a file, read while it is sent.
    case file(OpenFile, Range<Int64>)
    /// Chunks, each requested when the previous one has been sent; nil is the end. Without a length the body is sent chunked. It
    /// can be sent only once: not after a redirect that keeps the method. If the request ends early, the producing task is
    /// cancelled and awaited, so it must respond to cancellation.
    case stream(length: Int64?, @Sendable () async throws -> [UInt8]?)
}
