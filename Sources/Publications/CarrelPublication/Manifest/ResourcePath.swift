// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The path of a resource in its publication: relative, normalized, decoded.
///
/// Two spellings of one address (`a%20b.xhtml`, `./a b.xhtml`, `/a b.xhtml`) are one path. Text compares by canonical
/// equivalence, so that a name is found with composed or decomposed accents.
public struct ResourcePath: Hashable, Sendable, CustomStringConvertible {
    /// Parts joined by `/`, without one at the beginning; none of them is empty, `.` or `..`.
    public let string: String

    /// The path of an entry or a file with a decoded name.
    ///
    /// - Parameter name: a name without percent-encoding. Nil if it leaves its container or contains a NUL.
    public init?(decoded name: some StringProtocol) {
        let text = String(name)
        if Self.isPlain(text.utf8.span, asAddress: false) {
            string = text
            return
        }
        var parts: [Substring] = []
        guard !name.utf8.contains(0) else { return nil }
        for part in Substring(name).split(separator: "/", omittingEmptySubsequences: true) {
            switch part {
            case ".": continue
            case "..":
                guard parts.popLast() != nil else { return nil }
            default: parts.append(part)
            }
        }
        guard !parts.isEmpty else { return nil }
        string = parts.joined(separator: "/")
    }

    /// The path of an address.
    ///
    /// - Parameters:
    ///   - href: a relative reference (RFC 3986 §4.2); its query and fragment are ignored. An address that starts with `/` starts
    ///     at the container. Characters that should have been escaped are kept, and so is a `%` that begins no escape.
    ///   - base: the resource that contains the address. Nil: the root of the container.
    ///
    /// Nil for an address with a scheme or a host, and for an address that leaves the container.
    public init?(href: some StringProtocol, relativeTo base: ResourcePath? = nil) {
        let text = String(href)
        if Self.isPlain(text.utf8.span, asAddress: true) {
            self.init(normal: base.map { Self.joined($0.folder, text) } ?? text)
            return
        }
        guard !Self.hasScheme(href), !href.hasPrefix("//") else { return nil }
        let end = href.firstIndex { $0 == "?" || $0 == "#" } ?? href.endIndex
        let path = href[..<end]
        if path.isEmpty {
            guard let base else { return nil }
            self = base
            return
        }
        // part by part, so that an escaped slash does not become a separator
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.decode($0) ?? String($0) }
        guard !parts.contains(where: { $0.contains("/") }) else { return nil }
        var full = parts.joined(separator: "/")
        if let base, !path.hasPrefix("/"), let slash = base.string.lastIndex(of: "/") {
            full = base.string[...slash] + full
        }
        self.init(decoded: full)
    }

    /// The address: every character escaped that a path cannot contain (RFC 3986 §3.3).
    public var href: String { Self.isUnreserved(string.utf8.span) ? string : escaped }

    private static func isUnreserved(_ text: Span<UInt8>) -> Bool {
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "-")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                continue
            default: return false
            }
        }
        return true
    }

    private init(normal: String) { string = normal }

    /// The path of an address in normal form without escapes; nil for other addresses, which ``init(href:relativeTo:)`` reads.
    ///
    /// - Parameters:
    ///   - href: the address.
    ///   - folder: the folder of the resource that contains it, with its slash; empty at the root.
    init?(plain href: String, in folder: String = "") {
        guard Self.isPlain(href.utf8.span, asAddress: true) else { return nil }
        string = folder.isEmpty ? href : Self.joined(folder, href)
    }

    private static func joined(_ folder: String, _ name: String) -> String {
        var path = ""
        path.reserveCapacity(folder.utf8.count + name.utf8.count)
        path += folder
        path += name
        return path
    }

    /// The folder of the path, with its slash; empty at the root of the container.
    var folder: String { string.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(string[...$0]) } ?? "" }

    private var escaped: String {
        string.split(separator: "/").map(PercentEncoding.encode).joined(separator: "/")
    }

    /// The last part, such as `chapter.xhtml`.
    public var name: Substring { string[(string.lastIndex(of: "/").map(string.index(after:)) ?? string.startIndex)...] }

    /// The file extension in lower case, without the point; nil if there is none.
    public var fileExtension: String? {
        guard let point = name.lastIndex(of: "."), point > name.startIndex else { return nil }
        return name[name.index(after: point)...].lowercased()
    }

    public var description: String { string }

    /// Whether a text is already a path in normal form, like most: printable ASCII, no component that begins with a dot.
    private static func isPlain(_ text: Span<UInt8>, asAddress: Bool) -> Bool {
        var isAtStart = true
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "/"):
                if isAtStart { return false }
                isAtStart = true
            case UInt8(ascii: "."):
                if isAtStart { return false }
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ":"):
                if asAddress { return false }
                isAtStart = false
            case 0x20...0x7e: isAtStart = false
            default: return false
            }
        }
        return !isAtStart
    }

    /// Whether it begins as an absolute address does: a letter, then letters, digits, `+`, `-`, `.`, then a colon.
    static func hasScheme(_ href: some StringProtocol) -> Bool {
        guard let colon = href.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = href.utf8[..<colon]
        guard let first = scheme.first, (first | 0x20) >= UInt8(ascii: "a"), (first | 0x20) <= UInt8(ascii: "z") else {
            return false
        }
        return scheme.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}

extension ResourcePath: ExpressibleByStringLiteral {
    /// A path that the program itself names, not percent-encoded; traps when it is none.
    public init(stringLiteral text: String) {
        guard let path = ResourcePath(decoded: text) else { preconditionFailure("\(text) is not a path") }
        self = path
    }
}
