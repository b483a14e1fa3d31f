// SPDX-License-Identifier: Apache-2.0

/// The HTTP client that an app hands in: nothing here opens a connection.
public protocol MediaHTTPClient: Sendable {
    /// Sends a GET request.
    ///
    /// - Parameters:
    ///   - url: an absolute URL.
    ///   - fields: header fields of the request.
    ///   - limit: maximum size of the body in bytes; a longer body is an error.
    /// - Returns: the response, whatever its status.
    /// - Throws: the reason for a missing response: `media.no-ranges` if a range was requested but the whole file arrives, and is
    ///   longer than `limit`.
    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse

    /// Sends a POST request, for example for a license.
    ///
    /// - Parameters:
    ///   - url: an absolute URL.
    ///   - body: the content; its media type is in the fields.
    ///   - fields: header fields of the request.
    ///   - limit: maximum size of the response's body in bytes; a longer body is an error.
    /// - Returns: the response, whatever its status.
    /// - Throws: the reason for a missing response.
    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse
}

/// A header field (RFC 9110 §5).
public struct MediaHTTPField: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: String

    /// Creates a header field.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - value: its value.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A response of an HTTP server.
public struct MediaHTTPResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: [MediaHTTPField]
    /// The body.
    public var body: [UInt8]

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - fields: the header fields.
    ///   - body: the body.
    public init(status: Int, fields: [MediaHTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The value of the first field of this name, whatever its case.
    ///
    /// - Parameter name: the field's name, in any case.
    /// - Returns: the value, or nil.
    public func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
