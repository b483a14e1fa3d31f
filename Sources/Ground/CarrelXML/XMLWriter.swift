// SPDX-License-Identifier: Apache-2.0

/// Writes XML 1.0 in UTF-8, piece by piece: the written bytes can be taken at any time, so that a long document is never in
/// memory as a whole.
///
/// Whatever the texts are, the document is well-formed: markup is escaped, and characters that XML 1.0 cannot contain (§2.2)
/// become U+FFFD. Names are the program's own and are trusted.
package struct XMLWriter: Sendable {
    /// The bytes written since the last ``take()``.
    package private(set) var bytes: [UInt8] = []
    private var open: [StaticString] = []
    private var isInTag = false

    /// A document with its declaration: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`.
    package init() {
        bytes.reserveCapacity(512)
        open.reserveCapacity(4)
        bytes += "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n".utf8
    }

    /// Starts an element; it is open until ``end()``.
    ///
    /// - Parameters:
    ///   - name: its name, with its prefix if it has one.
    ///   - attributes: names and values, written in this order; attributes without a value are omitted.
    package mutating func start(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:]) {
        closeTag()
        bytes.append(UInt8(ascii: "<"))
        append(name)
        for (name, value) in attributes {
            guard let value else { continue }
            bytes.append(UInt8(ascii: " "))
            append(name)
            bytes.append(UInt8(ascii: "="))
            bytes.append(UInt8(ascii: "\""))
            escape(value, inAttribute: true)
            bytes.append(UInt8(ascii: "\""))
        }
        open.append(name)
        isInTag = true
    }

    /// Ends the last started element; an element without content becomes an empty-element tag.
    package mutating func end() {
        guard let name = open.popLast() else { preconditionFailure("no element is open") }
        if isInTag {
            bytes += "/>".utf8
            isInTag = false
        } else {
            bytes += "</".utf8
            append(name)
            bytes.append(UInt8(ascii: ">"))
        }
    }

    /// An element without children.
    package mutating func element(
        _ name: StaticString,
        _ attributes: KeyValuePairs<StaticString, String?> = [:],
        text: String = ""
    ) {
        start(name, attributes)
        if !text.isEmpty { self.text(text) }
        end()
    }

    /// Character data.
    package mutating func text(_ text: String) {
        closeTag()
        escape(text, inAttribute: false)
    }

    /// A comment, which may also follow the document. No text ends it early: `--` is written as `- -`, and so is a `-` at its
    /// end.
    ///
    /// - Parameter text: the text.
    /// - Returns: the comment with its delimiters.
    package static func comment(_ text: String) -> [UInt8] {
        var bytes = Array("<!-- ".utf8)
        var last: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            if scalar == "-" && last == "-" { bytes.append(UInt8(ascii: " ")) }
            bytes += String(isAllowed(scalar) ? scalar : "\u{fffd}").utf8
            last = scalar
        }
        return bytes + " -->".utf8
    }

    /// White space between elements.
    package mutating func newLine() {
        closeTag()
        bytes.append(UInt8(ascii: "\n"))
    }

    /// The bytes written, for a stream; writing continues after them.
    package mutating func take() -> [UInt8] {
        closeTag()
        defer { bytes = [] }
        return bytes
    }

    /// The end of the document.
    package consuming func finish() -> [UInt8] {
        while !open.isEmpty { end() }
        newLine()
        return bytes
    }

    // MARK: Elements of trees

    mutating func startTag(_ name: String) {
        closeTag()
        bytes.append(UInt8(ascii: "<"))
        bytes += name.utf8
    }

    mutating func attribute(_ name: String, _ value: String) {
        bytes.append(UInt8(ascii: " "))
        bytes += name.utf8
        bytes += "=\"".utf8
        escape(value, inAttribute: true)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func endStartTag() { bytes.append(UInt8(ascii: ">")) }

    mutating func endEmptyTag() { bytes += "/>".utf8 }

    mutating func endTag(_ name: String) {
        bytes += "</".utf8
        bytes += name.utf8
        bytes.append(UInt8(ascii: ">"))
    }

    private mutating func closeTag() {
        guard isInTag else { return }
        bytes.append(UInt8(ascii: ">"))
        isInTag = false
    }

    private mutating func append(_ name: StaticString) {
        name.withUTF8Buffer { name in unsafe bytes.append(contentsOf: name) }
    }

    private mutating func escape(_ text: String, inAttribute: Bool) {
        var text = text
        let isPlain = text.withUTF8 { utf8 in
            guard unsafe utf8.allSatisfy(Self.isPlain) else { return false }
            unsafe bytes.append(contentsOf: utf8)
            return true
        }
        if isPlain { return }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"" where inAttribute: bytes += "&quot;".utf8
            // Unescaped, a parser would turn them into spaces (§3.3.3), or a carriage return into a line feed (§2.11).
            case "\t" where inAttribute: bytes += "&#9;".utf8
            case "\n" where inAttribute: bytes += "&#10;".utf8
            case "\r": bytes += "&#13;".utf8
            case _ where !Self.isAllowed(scalar): bytes += "\u{fffd}".utf8
            default: bytes += String(scalar).utf8
            }
        }
    }

    /// Whether a byte stands for itself everywhere: all of ASCII but controls and what markup is made of.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "&") && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">")
            && byte != UInt8(ascii: "\"")
    }

    /// Whether XML 1.0 has the character (§2.2).
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xa, 0xd, 0x20...0xfffd, 0x10000...0x10ffff: true
        default: false
        }
    }
}
