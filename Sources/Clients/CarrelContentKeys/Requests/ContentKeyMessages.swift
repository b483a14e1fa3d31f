// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// Data to send to a key server.
public struct ContentKeyRequestData: Sendable {
    /// The body of a POST request; nil for a GET request.
    public let body: [UInt8]?
    /// The address.
    public let url: String
    /// Header fields of the request: the type of the body, and the token.
    public let fields: [MediaHTTPField]
}

/// A response to a request for a key.
public struct ContentKeyResponse: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        case persistable(PersistableContentKey)
    }

    let content: Content

    /// A response of the key server.
    ///
    /// - Parameter bytes: the body of the response.
    public init(_ bytes: [UInt8]) { content = .bytes(bytes) }

    /// A persistable key.
    ///
    /// - Parameter key: the key, which the session has stored.
    public init(_ key: PersistableContentKey) { content = .persistable(key) }
}
