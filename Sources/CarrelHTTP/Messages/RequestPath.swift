/// The path of a request: split on the raw `/`, each segment decoded once.
public struct RequestPath: Sendable, Hashable, CustomStringConvertible {
    /// The path as sent, starting with `/`, without the query.
    public let raw: String
    /// The decoded segments after the first `/`: `/a/b` has two, `/a/` has `a` and an empty one, `/` has one empty one.
    public let segments: [String]

    /// Refuses what could mean two things to two programs: characters that a target cannot hold, broken escapes, text that is
    /// not UTF-8, and segments that decode to a control character, `/`, `\`, `.` or `..`.
    public init(parsing raw: String) throws(HTTPError) {
        guard raw.utf8.first == UInt8(ascii: "/") else {
            throw HTTPError(.badRequest, "http.target", "the target does not start with a slash")
        }
        var hasEscapes = false
        for c in raw.utf8 {
            // RFC 3986 §3.3: printable ASCII only; `#`, `?` and `\` cannot stand in a path.
            guard c > 0x20, c < 0x7f, c != UInt8(ascii: "#"), c != UInt8(ascii: "?"), c != UInt8(ascii: "\\") else {
                throw HTTPError(.badRequest, "http.target", "the path has a character that must be escaped")
            }
            if c == UInt8(ascii: "%") { hasEscapes = true }
        }
        var segments: [String] = []
        segments.reserveCapacity(8)
        var rest = raw.utf8.dropFirst()
        var isLast = false
        while !isLast {
            let end = rest.firstIndex(of: UInt8(ascii: "/"))
            isLast = end == nil
            let text = Substring(rest[..<(end ?? rest.endIndex)])
            if let end { rest = rest[rest.index(after: end)...] }
            guard let segment = hasEscapes ? PercentEncoding.decode(text) : String(text) else {
                throw HTTPError(.badRequest, "http.target", "the path has a broken escape")
            }
            guard segment != ".", segment != "..", !hasEscapes || segment.utf8.allSatisfy(Self.isAllowed) else {
                throw HTTPError(.badRequest, "http.target", "the path has a segment that is not allowed")
            }
            segments.append(segment)
        }
        self.raw = raw
        self.segments = segments
    }

    public var description: String { raw }

    private static func isAllowed(_ c: UInt8) -> Bool {
        c >= 0x20 && c != 0x7f && c != UInt8(ascii: "/") && c != UInt8(ascii: "\\")
    }
}
