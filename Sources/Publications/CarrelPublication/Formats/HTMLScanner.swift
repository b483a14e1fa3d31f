// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The tags and texts of HTML, parsed leniently: tags need not be balanced, and everything but a tag is text.
struct HTMLScanner {
    private var rest: Substring
    /// The element that ends before anything else comes.
    private var closed: XMLName?

    private static let empty: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]

    init(_ text: String) { rest = text[...] }

    /// The next tag or text, names in lower case; nil at the end. Scripts and styles have no text.
    mutating func next() -> XMLEvent? {
        if let name = closed {
            closed = nil
            return .end(name)
        }
        while let first = rest.first {
            guard first == "<" else {
                let text = rest.prefix { $0 != "<" }
                rest = rest[text.endIndex...]
                return .text(HTMLEntities.decoded(text))
            }
            let tag = rest.dropFirst()
            if tag.hasPrefix("!--") {
                rest = tag.firstRange(of: "-->").map { tag[$0.upperBound...] } ?? tag[tag.endIndex...]
            } else if tag.first == "!" || tag.first == "?" {
                rest = tag.drop { $0 != ">" }.dropFirst()
            } else if tag.first == "/" {
                let name = tag.dropFirst().prefix { $0.isLetter || $0.isNumber }
                rest = tag.drop { $0 != ">" }.dropFirst()
                return .end(XMLName(name.lowercased()))
            } else if tag.first?.isLetter == true {
                return start(tag)
            } else {
                rest = tag
                return .text("<")
            }
        }
        return nil
    }

    private mutating func start(_ tag: Substring) -> XMLEvent {
        let name = tag.prefix { $0.isLetter || $0.isNumber }.lowercased()
        rest = tag.dropFirst(name.count)
        let attributes = Self.attributes(&rest)
        if ["script", "style"].contains(name) { _ = Self.content(&rest, upTo: "</\(name)") }
        if Self.empty.contains(name) || tag[..<rest.startIndex].hasSuffix("/>") { closed = XMLName(name) }
        return .start(XMLName(name), attributes: attributes.map { XMLAttribute(XMLName($0.key), $0.value) })
    }

    /// The text up to an end tag, which stays.
    static func content(_ rest: inout Substring, upTo end: String) -> Substring {
        var at = rest.startIndex
        while let open = rest[at...].firstIndex(of: "<") {
            if rest[open...].prefix(end.count).lowercased() == end {
                defer { rest = rest[open...] }
                return rest[..<open]
            }
            at = rest.index(after: open)
        }
        defer { rest = rest[rest.endIndex...] }
        return rest
    }

    /// The attributes of a start tag, up to its end.
    static func attributes(_ rest: inout Substring) -> [String: String] {
        var found: [String: String] = [:]
        while let first = rest.first, first != ">" {
            if first.isWhitespace || first == "/" {
                rest.removeFirst()
                continue
            }
            let name = rest.prefix { !$0.isWhitespace && $0 != "=" && $0 != ">" && $0 != "/" }
            rest = rest.dropFirst(max(1, name.count)).drop(while: \.isWhitespace)
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop(while: \.isWhitespace)
            let value: Substring
            if let quote = rest.first, quote == "\"" || quote == "'" {
                value = rest.dropFirst().prefix { $0 != quote }
                rest = rest.dropFirst(value.count + 2)
            } else {
                value = rest.prefix { !$0.isWhitespace && $0 != ">" }
                rest = rest.dropFirst(value.count)
            }
            let key = name.lowercased()
            if found[key] == nil, found.count < 64 { found[key] = HTMLEntities.decoded(value, isAttribute: true) }
        }
        rest = rest.dropFirst()
        return found
    }
}
