// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP

/// Collects a request's header fields and refuses requests that two programs could read in two ways, before anything trusts
/// them.
///
/// The parser under us is lenient (libmicrohttpd 0.9.75): it takes two `Content-Length` fields, a length with a transfer coding,
/// any characters in a method. ``HeadLayout`` refuses what the parser hides.
struct RequestGuard {
    /// The header's announcement of the body.
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
    }

    /// The fields as sent.
    private(set) var fields = HTTPFields()
    /// The first `Host`.
    private(set) var host: String?
    private var hosts = 0
    private var length: String?
    private var coding: String?
    private var problem: HTTPError?

    init() {
        fields.reserveCapacity(16)
    }

    /// Adds the next field line.
    mutating func add(name: RawSpan, value: RawSpan) {
        let text = Self.text(value)
        if name.byteCount == 0 || !Self.all(name, Self.isToken) {
            refuse("http.field", "a field's name is not a token")
        }
        if !Self.all(value, Self.isValue) {
            refuse("http.field", "a field's value has a control character")
        }
        switch name.byteCount {
        case 4 where Self.isSame(name, "host"):
            hosts += 1
            if hosts == 1 { host = text }
        case 6 where Self.isSame(name, "expect") && text.lowercased() != "100-continue":
            if problem == nil { problem = HTTPError(.expectationFailed, "http.expectation", "only 100-continue can be expected") }
        case 14 where Self.isSame(name, "content-length"):
            if length != nil { refuse("http.framing", "there is more than one Content-Length") }
            length = text
        case 17 where Self.isSame(name, "transfer-encoding"):
            if coding != nil { refuse("http.framing", "there is more than one Transfer-Encoding") }
            coding = text
        default: break
        }
        fields.append(Self.text(name), text)
    }

    /// Checks the whole head.
    ///
    /// - Parameters:
    ///   - method: the method as sent.
    ///   - version: the version as sent, such as `HTTP/1.1`.
    /// - Returns: the framing of the body.
    /// - Throws: the problem to send before the connection is closed.
    func check(method: String, version: String) throws(HTTPError) -> Framing {
        guard method == "GET" || method == "HEAD" || method == "POST" || (Token.isValid(method) && method.utf8.count <= 32) else {
            throw HTTPError(.badRequest, "http.method", "the method is not a token")
        }
        let isOld = version == "HTTP/1.0"
        guard isOld || version == "HTTP/1.1" else {
            throw HTTPError(.httpVersionNotSupported, "http.version", "only HTTP/1.0 and HTTP/1.1 are spoken here")
        }
        if let problem { throw problem }
        guard hosts == 1 || (hosts == 0 && isOld) else { throw HTTPError(.badRequest, "http.host", "there must be one Host") }
        if let coding {
            guard length == nil else {
                throw HTTPError(.badRequest, "http.framing", "Content-Length and Transfer-Encoding exclude each other")
            }
            guard !isOld, coding.lowercased() == "chunked" else {
                throw HTTPError(.badRequest, "http.framing", "only chunked can be the encoding")
            }
            return .chunked
        }
        guard let length else { return .none }
        let digits = length.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard digits, length.utf8.count <= 18, let count = Int(length) else {
            throw Self.unreadableLength
        }
        return count == 0 ? .none : .length(count)
    }

    static let unreadableLength = HTTPError(.badRequest, "http.framing", "the Content-Length is not a number of bytes")

    private mutating func refuse(_ code: StaticString, _ detail: String) {
        if problem == nil { problem = HTTPError(.badRequest, code, detail) }
    }

    private static func text(_ bytes: RawSpan) -> String {
        unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    private static func isSame(_ name: RawSpan, _ lowercase: StaticString) -> Bool {
        for i in 0..<name.byteCount {
            let c = name.u8(at: i)
            let lower = c >= UInt8(ascii: "A") && c <= UInt8(ascii: "Z") ? c | 0x20 : c
            if unsafe lower != lowercase.utf8Start[i] { return false }
        }
        return true
    }

    private static func all(_ bytes: RawSpan, _ allowed: [Bool]) -> Bool {
        for i in 0..<bytes.byteCount where !allowed[Int(bytes.u8(at: i))] { return false }
        return true
    }

    private static let isToken = (0..<256).map { Token.isValid(String(UnicodeScalar(UInt8($0)))) && $0 < 128 }
    private static let isValue = (0..<256).map { $0 > 127 || Token.isValidFieldValue(String(UnicodeScalar(UInt8($0)))) }
}
