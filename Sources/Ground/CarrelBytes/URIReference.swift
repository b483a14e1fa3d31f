// SPDX-License-Identifier: Apache-2.0

/// The five parts of a URI or of a relative reference, as written (RFC 3986 §3).
package struct URIReference: Sendable, Hashable, CustomStringConvertible {
    package var scheme: Substring?
    package var authority: Substring?
    package var path: Substring
    package var query: Substring?
    package var fragment: Substring?

    /// Splits a reference (RFC 3986 Appendix B). Every text splits; whether its parts are well-formed is not checked.
    package init(_ text: some StringProtocol) {
        var remainder = Substring(text)
        if let mark = remainder.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = remainder[remainder.index(after: mark)...]
            remainder = remainder[..<mark]
        }
        if let mark = remainder.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = remainder[remainder.index(after: mark)...]
            remainder = remainder[..<mark]
        }
        if let colon = Self.schemeEnd(remainder) {
            scheme = remainder[..<colon]
            remainder = remainder[remainder.index(after: colon)...]
        }
        if remainder.utf8.starts(with: "//".utf8) {
            remainder = remainder.dropFirst(2)
            let end = remainder.utf8.firstIndex(of: UInt8(ascii: "/")) ?? remainder.endIndex
            authority = remainder[..<end]
            remainder = remainder[end...]
        }
        path = remainder
    }

    /// A part with its escapes replaced (RFC 3986 §2.1); nil if an escape is invalid, or the bytes are not UTF-8.
    package static func percentDecoded(_ text: some StringProtocol) -> String? {
        var out: [UInt8] = []
        var remainder = Substring(text).utf8
        while let byte = remainder.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                out.append(byte)
                continue
            }
            guard remainder.count >= 2, let decoded = Hex.decode(Substring(remainder.prefix(2))) else { return nil }
            out += decoded
            remainder = remainder.dropFirst(2)
        }
        return String(validating: out, as: UTF8.self)
    }

    /// Whether the reference has a scheme, so that it needs no base.
    package var isAbsolute: Bool { scheme != nil }

    /// The target of a reference (RFC 3986 §5.2).
    ///
    /// - Parameter reference: absolute or relative.
    /// - Returns: the target; relative if this reference is.
    package func resolving(_ reference: URIReference) -> URIReference {
        var target = reference
        if reference.scheme != nil {
            target.path = Self.withoutDots(reference.path)
            return target
        }
        target.scheme = scheme
        if reference.authority != nil {
            target.path = Self.withoutDots(reference.path)
            return target
        }
        target.authority = authority
        if reference.path.isEmpty {
            target.path = path
            target.query = reference.query ?? query
        } else if reference.path.utf8.first == UInt8(ascii: "/") {
            target.path = Self.withoutDots(reference.path)
        } else {
            target.path = Self.withoutDots(Substring(merged(with: reference.path)))
        }
        return target
    }

    /// The target of a reference as text.
    ///
    /// - Parameters:
    ///   - reference: absolute or relative.
    ///   - base: the address of the document that contains it; nil or empty leaves the reference unchanged.
    /// - Returns: the address.
    package static func resolve(_ reference: String, against base: String?) -> String {
        guard let base, !base.isEmpty else { return reference }
        return URIReference(base).resolving(URIReference(reference)).description
    }

    /// The reference as text (RFC 3986 §5.3).
    package var description: String {
        var out = ""
        if let scheme { out += "\(scheme):" }
        if let authority { out += "//\(authority)" }
        out += path
        if let query { out += "?\(query)" }
        if let fragment { out += "#\(fragment)" }
        return out
    }

    /// RFC 3986 §5.2.3.
    private func merged(with other: Substring) -> String {
        if authority != nil, path.isEmpty { return "/" + other }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return String(other) }
        return String(path[...slash]) + other
    }

    /// A path without `.` and `..` (RFC 3986 §5.2.4); `..` above the root is dropped, at the beginning of a relative path it is
    /// kept.
    private static func withoutDots(_ path: Substring) -> Substring {
        guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
        let isRooted = path.utf8.first == UInt8(ascii: "/")
        var parts: [Substring] = []
        let segments = (isRooted ? path.dropFirst() : path).split(separator: "/", omittingEmptySubsequences: false)
        for (number, segment) in segments.enumerated() {
            let isLast = number == segments.count - 1
            switch segment {
            case ".": if isLast { parts.append("") }
            case "..":
                // kept above the start of a relative path: only the later base resolves it
                if let last = parts.last, last != ".." { parts.removeLast() } else if !isRooted { parts.append("..") }
                if isLast { parts.append("") }
            default: parts.append(segment)
            }
        }
        return Substring((isRooted ? "/" : "") + parts.joined(separator: "/"))
    }

    /// The colon after a scheme (RFC 3986 §3.1).
    private static func schemeEnd(_ text: Substring) -> Substring.Index? {
        for index in text.utf8.indices {
            switch text.utf8[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                if index == text.startIndex { return nil }
            case UInt8(ascii: ":"): return index == text.startIndex ? nil : index
            default: return nil
            }
        }
        return nil
    }
}
