// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHTTP

/// Reads the lines of a response's head as libcurl hands them over, and passes over interim heads (RFC 9110 §15.2).
package struct ResponseHead {
    /// Bytes of all lines together: interim heads, the head and trailers.
    package static let limit = 128 << 10

    package private(set) var status: HTTPStatus?
    package private(set) var version = ""
    package private(set) var fields: HTTPFields = [:]
    /// Whether the head of the final response has ended. Later lines are trailers, which count and are ignored; libcurl keeps them.
    package private(set) var isComplete = false
    private var size = 0

    package init() {}

    /// Parses one line with its line break. Returns whether it completes the head.
    package mutating func take(_ line: RawSpan) throws(HTTPClientError) -> Bool {
        size += line.byteCount
        guard size <= Self.limit else {
            let name = isComplete ? "head and trailers are" : "head is"
            throw HTTPClientError(.head, "the response's \(name) longer than \(Self.limit) bytes")
        }
        guard !isComplete else { return false }
        var end = line.byteCount
        while end > 0, line.u8(at: end - 1) == 10 || line.u8(at: end - 1) == 13 { end -= 1 }
        if line.matches("HTTP/", at: 0) {
            try takeStatus(line.extracting(0..<end))
        } else if end > 0 {
            try takeField(line.extracting(0..<end))
        } else if let status, status.rawValue >= 200 || status.rawValue == 101 {
            isComplete = true
        }
        return isComplete
    }

    private mutating func takeStatus(_ line: RawSpan) throws(HTTPClientError) {
        let parts = String(decoding: [UInt8](copying: line), as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[1].utf8.count == 3, let number = UInt16(parts[1]), number >= 100 else {
            throw HTTPClientError(.head, "the response's status line is not one")
        }
        version = String(parts[0].dropFirst(5))
        status = HTTPStatus(rawValue: Int(number))
        fields = [:]
    }

    private mutating func takeField(_ line: RawSpan) throws(HTTPClientError) {
        let bytes = [UInt8](copying: line)
        guard status != nil, let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw HTTPClientError(.head, "the response's head has a line that is not a field")
        }
        let name = String(decoding: bytes[..<colon], as: UTF8.self)
        guard Token.isValid(name) else { throw HTTPClientError(.head, "a field of the response has a bad name") }
        let value = bytes[(colon + 1)...].trimmingPrefix { $0 == 32 || $0 == 9 }
        let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? value.startIndex
        fields.append(name, String(decoding: value[..<end], as: UTF8.self))
    }
}
