// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP

/// The body of a request.
public enum ClientRequestBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory, sent with `Content-Length`.
    case bytes([UInt8])
    /// A part of a file, read as it is sent.
    case file(OpenFile, Range<Int64>)
    /// Chunks as they come, each asked for when the one before is sent; nil is the end. Without a length it goes out chunked.
    /// It can be sent only once: not after a redirect that keeps the method. When the request ends early, the task that asks is
    /// cancelled and waited for, so a chunk that is being made must heed that.
    case stream(length: Int64?, @Sendable () async throws -> [UInt8]?)
}
