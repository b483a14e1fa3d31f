/// A request whose line and header fields have been checked.
public struct HTTPRequest: Sendable {
    public var method: HTTPMethod
    public var path: RequestPath
    public var query: Query
    public var headers: HTTPFields
    /// `http` or `https`: as the client sees it, where a trusted proxy says so.
    public var scheme: String
    /// Host and optional port, as the client sees it.
    public var authority: String
    public var peer: Peer
    /// Names this request in the log and in the response's `X-Request-Id`.
    public var id: String
    public var body: RequestBody

    /// A request from its parts; throws 400 when `target`, path and optional query as sent, is not valid.
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
        if let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = try RequestPath(parsing: String(target[..<mark]))
            let raw = target[target.utf8.index(after: mark)...]
            guard raw.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }) else {
                throw HTTPError(.badRequest, "http.query", "the query has a character that must be escaped")
            }
            query = try Query(parsing: String(raw))
        } else {
            path = try RequestPath(parsing: target)
            query = Query()
        }
        self.method = method
        self.headers = headers
        self.scheme = scheme
        self.authority = authority
        self.peer = peer
        self.id = id
        self.body = body
    }

    /// A request made in this process, for tests and for our own calls. Traps when the target is not valid.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: path and optional query, percent-encoded.
    ///   - headers: the header fields.
    ///   - body: the whole body.
    ///   - peer: who asks.
    ///   - authority: host and optional port.
    ///   - id: names the request.
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

    /// The media type of the body in lower case, without parameters; nil when the field is missing.
    public var contentType: String? {
        guard let field = headers["Content-Type"] else { return nil }
        let type = field.prefix { $0 != ";" }
        return String(type).lowercased().trimmingASCIISpace()
    }

    /// The body as a form (`application/x-www-form-urlencoded`) of at most `limit` bytes.
    public func form(upTo limit: Int) async throws(HTTPError) -> Query {
        guard contentType == "application/x-www-form-urlencoded" else {
            throw HTTPError(.unsupportedMediaType, "http.mediaType", "send application/x-www-form-urlencoded")
        }
        guard let text = String(validating: try await body.collect(upTo: limit), as: UTF8.self) else {
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
