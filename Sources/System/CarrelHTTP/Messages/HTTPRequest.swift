// SPDX-License-Identifier: Apache-2.0

/// A request whose line and header fields have been checked.
public struct HTTPRequest: Sendable {
    /// The content of a request, shared by its copies: handlers pass requests around, and copying each field would cost.
    private final class Parts: Sendable {
        let method: HTTPMethod
        let path: RequestPath
        let query: Query
        let headers: HTTPFields
        let scheme: String
        let authority: String
        let peer: Peer
        let id: String
        let body: RequestBody
        let certificate: ClientCertificate?

        init(
            _ method: HTTPMethod,
            _ path: RequestPath,
            _ query: Query,
            _ headers: HTTPFields,
            _ scheme: String,
            _ authority: String,
            _ peer: Peer,
            _ id: String,
            _ body: RequestBody,
            _ certificate: ClientCertificate? = nil
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.headers = headers
            self.scheme = scheme
            self.authority = authority
            self.peer = peer
            self.id = id
            self.body = body
            self.certificate = certificate
        }

        /// Returns the request with some parts replaced.
        func with(
            method: HTTPMethod? = nil,
            headers: HTTPFields? = nil,
            peer: Peer? = nil,
            authority: String? = nil,
            scheme: String? = nil,
            body: RequestBody? = nil,
            certificate: ClientCertificate?? = nil
        ) -> Parts {
            Parts(
                method ?? self.method,
                path,
                query,
                headers ?? self.headers,
                scheme ?? self.scheme,
                authority ?? self.authority,
                peer ?? self.peer,
                id,
                body ?? self.body,
                certificate ?? self.certificate
            )
        }
    }

    private var parts: Parts

    /// The method (RFC 9110 §9).
    public var method: HTTPMethod {
        get { parts.method }
        set { parts = parts.with(method: newValue) }
    }
    /// The decoded path of the request target.
    public var path: RequestPath { parts.path }
    /// The decoded query of the request target.
    public var query: Query { parts.query }
    /// The header fields, in the order received.
    public var headers: HTTPFields {
        get { parts.headers }
        set { parts = parts.with(headers: newValue) }
    }
    /// `http` or `https`: from the client's view, if a trusted proxy reports it.
    public var scheme: String {
        get { parts.scheme }
        set { parts = parts.with(scheme: newValue) }
    }
    /// Host and optional port, as the client sees it.
    public var authority: String {
        get { parts.authority }
        set { parts = parts.with(authority: newValue) }
    }
    /// The other end of the connection.
    public var peer: Peer {
        get { parts.peer }
        set { parts = parts.with(peer: newValue) }
    }
    /// The certificate of the client, on listeners that request it and from configured proxies; nil without a certificate.
    package var clientCertificate: ClientCertificate? {
        get { parts.certificate }
        set { parts = parts.with(certificate: .some(newValue)) }
    }
    /// Names this request in the log and in the response's `X-Request-Id`.
    public var id: String { parts.id }
    /// The body; read it at most once.
    public var body: RequestBody {
        get { parts.body }
        set { parts = parts.with(body: newValue) }
    }

    /// A request from its parts; throws 400 when `target`, path and optional query as sent, is not valid.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: path and optional query, as sent.
    ///   - headers: the header fields.
    ///   - scheme: `http` or `https`.
    ///   - authority: the host with its port.
    ///   - peer: the client's address and certificate.
    ///   - id: the id of the request, for logs and errors.
    ///   - body: the body.
    /// - Throws: ``HTTPError`` with status 400.
    public init(
        method: HTTPMethod,
        parsing target: String,
        headers: HTTPFields,
        scheme: String,
        authority: String,
        peer: Peer,
        id: String,
        body: RequestBody
    ) throws(HTTPError) {
        let path: RequestPath
        var query = Query()
        if let (before, after, isPlain) = Self.split(target) {
            path = try RequestPath(parsing: before)
            guard isPlain else {
                throw HTTPError(.badRequest, "http.query", "the query has a character that must be escaped")
            }
            query = try Query(parsing: after)
        } else {
            path = try RequestPath(parsing: target)
        }
        parts = Parts(method, path, query, headers, scheme, authority, peer, id, body)
    }

    /// The text before the first `?`, the text after it, and whether that has only characters that a query may have; nil without
    /// a `?`.
    private static func split(_ target: String) -> (path: String, query: String, isPlain: Bool)? {
        var target = target
        return target.withUTF8 { bytes in
            guard let mark = unsafe bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
            let query = unsafe UnsafeBufferPointer(rebasing: bytes[(mark + 1)...])
            return unsafe (
                String(decoding: UnsafeBufferPointer(rebasing: bytes[..<mark]), as: UTF8.self),
                String(decoding: query, as: UTF8.self),
                query.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
            )
        }
    }

    /// A request made in this process, for tests and for our own calls. Traps if the target is invalid.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: path and optional query, percent-encoded.
    ///   - headers: the header fields.
    ///   - body: the whole body.
    ///   - peer: the client.
    ///   - authority: host and optional port.
    ///   - id: the request's id.
    public init(
        _ method: HTTPMethod,
        _ target: String,
        headers: HTTPFields = [:],
        body: [UInt8] = [],
        peer: Peer = .network(address: "127.0.0.1", port: 0),
        authority: String = "localhost",
        id: String = "in-process"
    ) {
        do {
            try self.init(
                method: method,
                parsing: target,
                headers: headers,
                scheme: "http",
                authority: authority,
                peer: peer,
                id: id,
                body: RequestBody(body)
            )
        } catch {
            preconditionFailure("\(target): \(error)")
        }
    }

    /// The media type of the body in lower case, without parameters; nil if the field is missing.
    public var contentType: String? {
        guard let field = headers["Content-Type"] else { return nil }
        let type = field.prefix { $0 != ";" }
        return String(type).lowercased().trimmingASCIISpace()
    }

    /// Whether the body's type says that its text is ISO 8859-1.
    private var isLatin1: Bool {
        (headers["Content-Type"] ?? "").lowercased().split(separator: ";").dropFirst().contains { parameter in
            let pair = parameter.split(separator: "=").map { String($0).trimmingASCIISpace() }
            return pair.first == "charset" && ["iso-8859-1", "\"iso-8859-1\"", "latin1"].contains(pair.last)
        }
    }

    /// The body as a form (`application/x-www-form-urlencoded`), in UTF-8 unless its type declares ISO 8859-1.
    ///
    /// - Parameters:
    ///   - limit: the maximum size in bytes.
    ///   - orUntyped: whether a body without a type is treated as a form.
    /// - Returns: its fields.
    /// - Throws: 415 for another type, 413 for a longer body, 400 for malformed text.
    public func form(upTo limit: Int, orUntyped: Bool = false) async throws(HTTPError) -> Query {
        let type = contentType
        guard type == "application/x-www-form-urlencoded" || (orUntyped && type == nil) else {
            throw HTTPError.mediaType("send application/x-www-form-urlencoded")
        }
        let bytes = try await body.collect(upTo: limit)
        if isLatin1 { return try Query(parsingLatin1: bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPError(.badRequest, "http.form", "the form is not UTF-8")
        }
        return try Query(parsing: text)
    }
}

extension String {
    /// The text without spaces and tabs at its ends (RFC 9110 §5.6.3).
    func trimmingASCIISpace() -> String {
        func isSpace(_ c: UInt8) -> Bool { c == 0x20 || c == 0x09 }
        guard utf8.first.map(isSpace) == true || utf8.last.map(isSpace) == true else { return self }
        var text = Substring(self).utf8.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(Substring(text))
    }
}
