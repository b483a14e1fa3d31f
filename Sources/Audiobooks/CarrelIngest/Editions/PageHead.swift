// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The metadata in the head of an HTML page, as far as its first bytes tell.
struct PageHead {
    private(set) var title: String?
    private(set) var author: String?
    private(set) var description: String?
    private(set) var language: String?

    /// Bytes of a page that are looked at.
    static let limit = 65_536

    init(_ bytes: [UInt8]) {
        let text = Self.decoded(bytes)
        title = Self.content(of: "title", in: text).map { Self.words(HTMLEntities.decoded($0), limit: 300) }.flatMap {
            $0.isEmpty ? nil : $0
        }
        for tag in Self.tags(named: "meta", in: text) {
            let attributes = Self.attributes(tag)
            guard let content = attributes["content"].map({ Self.words($0, limit: 2000) }), !content.isEmpty else { continue }
            switch attributes["name"]?.lowercased() {
            case "author", "dc.creator": author = author ?? content
            case "description", "dc.description": description = description ?? content
            default: break
            }
        }
        if let tag = Self.tags(named: "html", in: text).first {
            let attributes = Self.attributes(tag)
            language = attributes["lang"] ?? attributes["xml:lang"]
            if language?.isEmpty == true || (language?.utf8.count ?? 0) > 35 { language = nil }
        }
    }

    /// Decodes UTF-8 if valid, else one character for each byte.
    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        // The limit may have cut a character in two: only an error before the end means another encoding.
        if String(validating: bytes.dropLast(3), as: UTF8.self) != nil || bytes.count < 4 { return bytes }
        for cut in 1...4 where String(validating: bytes.dropLast(3 + cut), as: UTF8.self) != nil { return bytes }
        return Array(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })).utf8)
    }

    private static func matches(_ word: String, _ text: [UInt8], at: Int) -> Bool {
        let word = Array(word.utf8)
        guard at + word.count <= text.count else { return false }
        return zip(word, text[at...]).allSatisfy { $0 == $1 | ($1 >= 0x41 && $1 <= 0x5a ? 0x20 : 0) }
    }

    /// The content of the start tags of that name, comments skipped.
    private static func tags(named name: String, in text: [UInt8]) -> [[UInt8]] {
        var contents: [[UInt8]] = []
        var at = 0
        while let open = text[at...].firstIndex(of: UInt8(ascii: "<")), contents.count < 200 {
            at = open + 1
            if matches("!--", text, at: at) {
                while at < text.count, !matches("-->", text, at: at) { at += 1 }
                continue
            }
            guard matches(name, text, at: at), at + name.utf8.count < text.count else { continue }
            let start = at + name.utf8.count
            guard text[start] <= 0x20 || text[start] == UInt8(ascii: ">") || text[start] == UInt8(ascii: "/") else { continue }
            var (end, quote): (Int, UInt8?) = (start, nil)
            while end < text.count {
                let byte = text[end]
                if let open = quote {
                    if byte == open { quote = nil }
                } else if byte == UInt8(ascii: ">") {
                    break
                } else if byte
                    == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
                {
                    quote = byte
                }
                end += 1
            }
            contents.append(Array(text[start..<end]))
            at = end
        }
        return contents
    }

    /// The text of the first element of that name.
    private static func content(of name: String, in text: [UInt8]) -> String? {
        var at = 0
        while let open = text[at...].firstIndex(of: UInt8(ascii: "<")) {
            at = open + 1
            if matches("!--", text, at: at) {
                while at < text.count, !matches("-->", text, at: at) { at += 1 }
                continue
            }
            guard matches(name, text, at: at), at + name.utf8.count < text.count,
                [0x20, 0x09, 0x0a, 0x0d, UInt8(ascii: ">")].contains(text[at + name.utf8.count])
            else { continue }
            // a tag that never ends is the last
            guard let close = text[at...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let end = text[close...].firstIndex(of: UInt8(ascii: "<")) ?? text.endIndex
            return String(decoding: text[(close + 1)..<max(close + 1, end)], as: UTF8.self)
        }
        return nil
    }

    private static func attributes(_ tag: [UInt8]) -> [String: String] {
        var values: [String: String] = [:]
        var remainder = tag[...]
        func isBlank(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == UInt8(ascii: "/") }
        while values.count < 50 {
            remainder = remainder.drop(while: isBlank)
            let name = remainder.prefix { !isBlank($0) && $0 != UInt8(ascii: "=") }
            guard !name.isEmpty else { break }
            remainder = remainder[name.endIndex...].drop { $0 <= 0x20 }
            var value: ArraySlice<UInt8> = []
            if remainder.first == UInt8(ascii: "=") {
                remainder = remainder.dropFirst().drop { $0 <= 0x20 }
                if let quote = remainder.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                    value = remainder.dropFirst().prefix { $0 != quote }
                    remainder = remainder[value.endIndex...].dropFirst()
                } else {
                    value = remainder.prefix { $0 > 0x20 }
                    remainder = remainder[value.endIndex...]
                }
            }
            let key = String(decoding: name, as: UTF8.self).lowercased()
            if values[key] == nil {
                values[key] = HTMLEntities.decoded(String(decoding: value, as: UTF8.self), isAttribute: true)
            }
        }
        return values
    }

    /// The text with single spaces between its words, cut to the limit.
    static func words(_ text: String, limit: Int) -> String {
        let joined = text.split { $0.isWhitespace || $0.unicodeScalars.allSatisfy { $0.value < 0x20 || $0.value == 0x7f } }
            .joined(separator: " ")
        return String(joined.prefix(limit))
    }
}
