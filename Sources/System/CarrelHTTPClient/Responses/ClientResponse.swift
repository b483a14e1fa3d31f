// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP

/// The response of a server.
public struct ClientResponse: Sendable {
    /// The status code (RFC 9110 §15).
    public let status: HTTPStatus
    /// The header fields, in the order received.
    public let headers: HTTPFields
    /// The address of the response, after redirects, without user name and password.
    public let url: String
    /// The HTTP version, such as `1.1` or `2`.
    public let version: String
    /// The whole body if it is collected; empty if it is streamed or written to a file.
    public internal(set) var body: [UInt8] = []
    /// Bytes of the body received, after decompression. For a stream that is only begun, 0.
    public internal(set) var bytesReceived: Int64 = 0
}
