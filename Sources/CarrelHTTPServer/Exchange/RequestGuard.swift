import CarrelHTTP

/// Refuses requests that two programs could read in two ways, before anything believes them.
///
/// The parser under us is lenient (libmicrohttpd 0.9.75): it takes two `Content-Length` fields, a length beside a transfer
/// coding, any characters in a method. What it hides from us cannot be refused here: lines that end in a bare line feed, folded
/// field lines, and what follows a NUL in a field's value. A proxy in front that is strict (nginx, HAProxy) covers those.
enum RequestGuard {
    /// What the header says about the body.
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
    }

    /// - Parameters:
    ///   - method: as sent.
    ///   - version: as sent, such as `HTTP/1.1`.
    ///   - headers: as sent.
    /// - Returns: how the body is framed.
    /// - Throws: the problem to answer with before the connection is closed.
    static func check(method: String, version: String, headers: HTTPFields) throws(HTTPError) -> Framing {
        guard Token.isValid(method), method.utf8.count <= 32 else { throw refusal("http.method", "the method is not a token") }
        let isOld = version == "HTTP/1.0"
        guard isOld || version == "HTTP/1.1" else {
            throw HTTPError(.httpVersionNotSupported, "http.version", "only HTTP/1.0 and HTTP/1.1 are spoken here")
        }
        var hosts = 0
        var length: String?
        var coding: String?
        for field in headers {
            guard Token.isValid(field.name) else { throw refusal("http.field", "a field's name is not a token") }
            guard Token.isValidFieldValue(field.value) else {
                throw refusal("http.field", "a field's value has a control character")
            }
            switch field.name.utf8.count {
            case 4 where field.name.lowercased() == "host": hosts += 1
            case 14 where field.name.lowercased() == "content-length":
                guard length == nil else { throw refusal("http.framing", "there is more than one Content-Length") }
                length = field.value
            case 17 where field.name.lowercased() == "transfer-encoding":
                guard coding == nil else { throw refusal("http.framing", "there is more than one Transfer-Encoding") }
                coding = field.value
            case 6 where field.name.lowercased() == "expect":
                guard field.value.lowercased() == "100-continue" else {
                    throw HTTPError(.expectationFailed, "http.expectation", "only 100-continue can be expected")
                }
            default: break
            }
        }
        guard hosts == 1 || (hosts == 0 && isOld) else { throw refusal("http.host", "there must be one Host") }
        if let coding {
            guard length == nil else { throw refusal("http.framing", "Content-Length and Transfer-Encoding exclude each other") }
            guard !isOld, coding.lowercased() == "chunked" else {
                throw refusal("http.framing", "only chunked can be the encoding")
            }
            return .chunked
        }
        guard let length else { return .none }
        let digits = length.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard digits, length.utf8.count <= 18, let count = Int(length) else {
            throw refusal("http.framing", "the Content-Length is not a number")
        }
        return count == 0 ? .none : .length(count)
    }

    private static func refusal(_ code: String, _ detail: String) -> HTTPError {
        HTTPError(.badRequest, code, detail)
    }
}
