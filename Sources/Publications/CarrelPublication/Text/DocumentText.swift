// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The words of an HTML or XHTML document as displayed: without markup, with every run of white space as one space.
package struct DocumentText: Sendable {
    package let scalars: [Unicode.Scalar]
    /// The parts of the text, in order: blocks of text that are not empty, and media between them.
    let parts: [Part]

    /// A block of the text, or something that is shown.
    enum Part: Sendable, Equatable {
        /// Places in `scalars`; the level of a heading is 1 to 6.
        case block(Range<Int>, heading: Int?)
        /// An element with an address, such as `img`, and its index in `scalars`.
        case media(MediaElement, at: Int)
    }

    /// - Parameter bytes: UTF-8 or UTF-16. Nil for anything else.
    package init?(_ bytes: [UInt8]) {
        guard let source = String(document: bytes) else { return nil }
        self.init(source)
    }

    package init(_ source: String) {
        var reader = Reader(Array(source.unicodeScalars))
        reader.run()
        scalars = reader.out
        parts = reader.parts
    }

    /// The words without markup, with every run of white space as one space, and none at the ends.
    static func plain(_ text: String) -> [Unicode.Scalar] {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").unicodeScalars.filter { $0 != "\u{ad}" }
    }

    private struct Reader {
        let source: [Unicode.Scalar]
        var at = 0
        var out: [Unicode.Scalar] = []
        var parts: [Part] = []
        /// The block's start in `out`, and its level if it is a heading.
        private var blockStart = 0
        private var heading: Int?

        init(_ source: [Unicode.Scalar]) {
            self.source = source
            out.reserveCapacity(source.count / 2)
        }

        mutating func run() {
            while at < source.count {
                switch source[at] {
                case "<": markup()
                case "&": reference()
                default:
                    add(source[at])
                    at += 1
                }
            }
            endBlock()
            if out.last == " " { out.removeLast() }
        }

        /// Ends the block at a tag that separates words.
        private mutating func endBlock() {
            var range = blockStart..<out.count
            while let first = range.first, out[first] == " " { range = first + 1..<range.upperBound }
            while let last = range.last, out[last] == " " { range = range.lowerBound..<last }
            if !range.isEmpty { parts.append(.block(range, heading: heading)) }
            blockStart = out.count
        }

        private mutating func add(_ scalar: Unicode.Scalar) {
            if scalar == "\u{ad}" { return }
            if scalar.properties.isWhitespace {
                if !out.isEmpty, out.last != " " { out.append(" ") }
            } else {
                out.append(scalar)
            }
        }

        private mutating func markup() {
            if skip("<!--", to: "-->") || skip("<?", to: "?>") { return }
            if starts(with: "<![CDATA[") {
                let end = place(of: "]]>", from: at + 9) ?? source.count
                for scalar in source[at + 9..<end] { add(scalar) }
                at = min(source.count, end + 3)
                return
            }
            var end = at + 1
            var quote: Unicode.Scalar?
            while end < source.count {
                let c = source[end]
                if let open = quote {
                    if c == open { quote = nil }
                } else if c == "\"" || c == "'" {
                    quote = c
                } else if c == ">" {
                    break
                }
                end += 1
            }
            let tag = source[(at + 1)..<end]
            let isClosing = tag.first == "/"
            let word = String(
                String.UnicodeScalarView(tag.dropFirst(isClosing ? 1 : 0).prefix { !$0.properties.isWhitespace && $0 != "/" })
            )
            .lowercased()
            let isEmpty = tag.last == "/"
            at = min(source.count, end + 1)
            if !Self.inline.contains(word) {
                endBlock()
                if let level = Self.headings.firstIndex(of: word) {
                    heading = isClosing || isEmpty ? nil : level + 1
                } else if !isClosing, Self.blocks.contains(word) {
                    heading = nil
                }
                if !isClosing, let media = MediaElement(word, tag) {
                    // before the block that follows, also where white space stands between them already
                    parts.append(.media(media, at: out.last == " " ? out.count - 1 : out.count))
                }
                add(" ")
            }
            if !isClosing, !isEmpty, ["script", "style", "head", "title", "template"].contains(word) { skipElement(word) }
        }

        /// The content of an element that is skipped.
        private mutating func skipElement(_ name: String) {
            let mark = Array("</\(name)".unicodeScalars)
            var next = at
            while next + mark.count <= source.count {
                if source[next] == "<", zip(mark, source[next...]).allSatisfy({ Self.lower($0) == Self.lower($1) }) {
                    at = next
                    return
                }
                next += 1
            }
            at = source.count
        }

        private mutating func reference() {
            guard let reference = HTMLEntities.reference(in: source[(at + 1)...]) else {
                add("&")
                at += 1
                return
            }
            for scalar in reference.characters.unicodeScalars { add(scalar) }
            at = reference.end
        }

        private func starts(with text: String) -> Bool { source[at...].starts(with: text.unicodeScalars) }

        private mutating func skip(_ start: String, to end: String) -> Bool {
            guard starts(with: start) else { return false }
            at = place(of: end, from: at + start.count).map { $0 + end.count } ?? source.count
            return true
        }

        private func place(of text: String, from start: Int) -> Int? {
            let mark = Array(text.unicodeScalars)
            var next = start
            while next + mark.count <= source.count {
                if source[next] == mark[0], source[next...].starts(with: mark) { return next }
                next += 1
            }
            return nil
        }

        private static func lower(_ c: Unicode.Scalar) -> Unicode.Scalar {
            c.value >= 0x41 && c.value <= 0x5a ? Unicode.Scalar(UInt8(c.value | 0x20)) : c
        }

        private static let headings = ["h1", "h2", "h3", "h4", "h5", "h6"]

        /// Elements whose start ends a heading that is not closed. Not `div`, which some books have inside headings.
        private static let blocks: Set<String> = [
            "address", "article", "aside", "blockquote", "body", "dd", "details", "dl", "dt", "fieldset", "figcaption", "figure",
            "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tbody", "td", "tfoot",
            "th", "thead", "tr", "ul",
        ]

        /// Elements that do not part words.
        private static let inline: Set<String> = [
            "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "dfn", "del", "em", "font", "i", "ins", "kbd", "mark",
            "q",
            "ruby", "rb", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
        ]
    }
}
