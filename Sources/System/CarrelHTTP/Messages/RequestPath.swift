// SPDX-License-Identifier: Apache-2.0

/// The path of a request: split on the raw `/`, each segment decoded once.
public struct RequestPath: Sendable, Hashable, CustomStringConvertible {
    /// The path as sent, starting with `/`, without the query.
    public let raw: String
    /// The decoded segments after the first `/`: `/a/b` has two, `/a/` has `a` and an empty segment, `/` has one empty segment.
    public let segments: [String]

    /// Parses the path of a request's target.
    ///
    /// Refuses what could mean two things to two programs: characters that a target cannot hold, broken escapes, text that is
    /// not UTF-8, and segments that decode to a control character, `/`, `\`, `.` or `..`.
    ///
    /// - Parameter raw: the path, escaped.
    /// - Throws: ``HTTPError`` with status 400.
    public init(parsing raw: String) throws(HTTPError) {
        var text = raw
        segments = try text.withUTF8 { unsafe Self.segments(of: $0) }.get()
        self.raw = raw
    }

    private static func segments(of bytes: UnsafeBufferPointer<UInt8>) -> Result<[String], HTTPError> {
        func refusal(_ detail: String) -> Result<[String], HTTPError> {
            .failure(HTTPError(.badRequest, "http.target", detail))
        }
        guard unsafe bytes.first == UInt8(ascii: "/") else { return refusal("the target does not start with a slash") }
        var hasEscapes = false
        for i in 0..<bytes.count {
            let c = unsafe bytes[i]
            // RFC 3986 §3.3: printable ASCII only; a path has no `#`, `?` and `\`.
            guard c > 0x20, c < 0x7f, c != UInt8(ascii: "#"), c != UInt8(ascii: "?"), c != UInt8(ascii: "\\") else {
                return refusal("the path has a character that must be escaped")
            }
            if c == UInt8(ascii: "%") { hasEscapes = true }
        }
        var segments: [String] = []
        segments.reserveCapacity(8)
        var start = 1
        while start <= bytes.count {
            var end = start
            while end < bytes.count, unsafe bytes[end] != UInt8(ascii: "/") { end += 1 }
            let part = unsafe UnsafeBufferPointer(rebasing: bytes[start..<end])
            start = end + 1
            let segment: String
            if hasEscapes {
                guard let decoded = unsafe PercentEncoding.bytes(part, plusIsSpace: false),
                    let text = String(validating: decoded, as: UTF8.self)
                else { return refusal("the path has a broken escape") }
                segment = text
            } else {
                segment = unsafe String(decoding: part, as: UTF8.self)
            }
            guard segment != ".", segment != "..", !hasEscapes || segment.utf8.allSatisfy(isAllowed) else {
                return refusal("the path has a segment that is not allowed")
            }
            segments.append(segment)
        }
        return .success(segments)
    }

    public var description: String { raw }

    private static func isAllowed(_ c: UInt8) -> Bool {
        c >= 0x20 && c != 0x7f && c != UInt8(ascii: "/") && c != UInt8(ascii: "\\")
    }
}
