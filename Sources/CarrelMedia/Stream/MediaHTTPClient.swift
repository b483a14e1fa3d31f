/// The HTTP client that an app hands in: nothing here opens a connection.
package protocol MediaHTTPClient: Sendable {
    /// Sends a GET request.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - fields: header fields of the request.
    ///   - limit: bytes of the body at most; a longer one is an error.
    /// - Returns: the response, whatever its status.
    /// - Throws: the reason why there is no response.
    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse
}

/// A header field (RFC 9110 §5).
package struct MediaHTTPField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A response to a GET request.
package struct MediaHTTPResponse: Sendable {
    package var status: Int
    package var fields: [MediaHTTPField]
    package var body: [UInt8]

    package init(status: Int, fields: [MediaHTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The value of the first field of this name, whatever its case.
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
