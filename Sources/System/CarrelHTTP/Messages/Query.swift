// SPDX-License-Identifier: Apache-2.0

/// Name and value pairs of a query or a form, in order, decoded once (WHATWG URL §5.1).
public struct Query: Sendable, Hashable {
    /// One pair.
    public struct Pair: Sendable, Hashable {
        /// The decoded name.
        public let name: String
        /// The decoded value; empty if there was no `=`.
        public let value: String
    }

    /// The text as sent, without the `?`.
    public let raw: String
    /// The pairs in order.
    public let pairs: [Pair]

    /// The query with no pairs.
    public init() {
        raw = ""
        pairs = []
    }

    /// Takes apart the text after `?`, or a form's body; throws 400 at a broken escape and when there are more than `limit`
    /// pairs.
    ///
    /// - Parameters:
    ///   - raw: the query, escaped.
    ///   - limit: the largest accepted number of pairs.
    /// - Throws: ``HTTPError`` with status 400.
    public init(parsing raw: String, limit: Int = 256) throws(HTTPError) {
        self.raw = raw
        var text = raw
        pairs = try text.withUTF8 { unsafe Self.pairs($0, limit, Self.decode) }.get()
    }

    /// The same for a form in ISO 8859-1: every byte, escaped or not, is the character with that number.
    init(parsingLatin1 bytes: [UInt8], limit: Int = 256) throws(HTTPError) {
        raw = Self.latin1(bytes)
        pairs = try unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe Self.pairs(bytes, limit) { unsafe PercentEncoding.bytes($0, plusIsSpace: true).map(Self.latin1) }
        }.get()
    }

    private static func latin1(_ bytes: [UInt8]) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func pairs(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ limit: Int,
        _ decode: (UnsafeBufferPointer<UInt8>) -> String?
    ) -> Result<[Pair], HTTPError> {
        var pairs: [Pair] = []
        pairs.reserveCapacity(4)
        var start = 0
        while start < bytes.count {
            var (end, equals) = (start, Int?.none)
            while end < bytes.count {
                let c = unsafe bytes[end]
                if c == UInt8(ascii: "&") { break }
                if c == UInt8(ascii: "="), equals == nil { equals = end }
                end += 1
            }
            defer { start = end + 1 }
            guard end > start else { continue }
            let name = unsafe decode(UnsafeBufferPointer(rebasing: bytes[start..<(equals ?? end)]))
            let value = equals.map { unsafe decode(UnsafeBufferPointer(rebasing: bytes[($0 + 1)..<end])) } ?? ""
            guard let name, let value else {
                return .failure(HTTPError(.badRequest, "http.query", "the query has a broken escape"))
            }
            guard pairs.count < limit else {
                return .failure(HTTPError(.badRequest, "http.query", "the query has too many fields"))
            }
            pairs.append(Pair(name: name, value: value))
        }
        return .success(pairs)
    }

    /// The text of a name or value; most have nothing to undo. What was cut out of text at ASCII characters is text.
    private static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard unsafe bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return unsafe String(decoding: bytes, as: UTF8.self)
        }
        return unsafe PercentEncoding.bytes(bytes, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The first value of that name (names are case-sensitive), or nil if the name is not there.
    ///
    /// - Parameter name: the name.
    public subscript(name: String) -> String? {
        for pair in pairs where pair.name == name { return pair.value }
        return nil
    }

    /// Every value of that name, in order.
    ///
    /// - Parameter name: the name.
    /// - Returns: the values.
    public func all(_ name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    /// The first value of a name in whatever case, or nil if the name is not there.
    ///
    /// - Parameter name: in ASCII.
    /// - Returns: the decoded value.
    public func value(ignoringCaseOf name: String) -> String? {
        for pair in pairs where HTTPFields.same(pair.name, name) { return pair.value }
        return nil
    }

    /// Whether a name, in whatever case, is there without a value or with one that means yes.
    ///
    /// - Parameter name: the name, in any case.
    /// - Returns: true if it is set.
    public func hasFlag(ignoringCaseOf name: String) -> Bool { value(ignoringCaseOf: name).map(Self.meansYes) ?? false }

    private static func meansYes(_ value: String) -> Bool { ["", "true", "1", "yes"].contains(value.lowercased()) }

    /// Whether the name is there without a value or with one that means yes (`true`, `1`, `yes`, in any case).
    ///
    /// - Parameter name: the name.
    /// - Returns: true if it is set.
    public func flag(_ name: String) -> Bool {
        self[name].map(Self.meansYes) ?? false
    }
}
