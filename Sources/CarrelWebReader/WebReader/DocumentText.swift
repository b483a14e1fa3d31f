import CarrelBytes
import CarrelXML

/// The words of an HTML or XHTML document as its reader sees them: without markup, every run of white space one space.
struct DocumentText: Sendable {
    let scalars: [Unicode.Scalar]

    /// - Parameter bytes: UTF-8 or UTF-16. Nil for anything else.
    init?(_ bytes: [UInt8]) {
        let source: String?
        if var utf16 = UTF16Decoder(head: bytes) {
            source = try? utf16.decode(bytes.rawSpan)
            if (try? utf16.finish()) == nil { return nil }
        } else {
            source = String(validating: bytes, as: UTF8.self)
        }
        guard let source else { return nil }
        self.init(source)
    }

    init(_ source: String) {
        var reader = Reader(Array(source.unicodeScalars))
        reader.run()
        scalars = reader.out
    }

    /// Words that are no markup, with every run of white space one space, and none at the ends.
    static func plain(_ text: String) -> [Unicode.Scalar] {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").unicodeScalars.filter { $0 != "\u{ad}" }
    }

    private struct Reader {
        let source: [Unicode.Scalar]
        var at = 0
        var out: [Unicode.Scalar] = []

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
            if out.last == " " { out.removeLast() }
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
            if !Self.inline.contains(word) { add(" ") }
            if !isClosing, !isEmpty, ["script", "style", "head", "title", "template"].contains(word) { skipElement(word) }
        }

        /// What stands in an element that is not read.
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

        /// Elements that do not part words.
        private static let inline: Set<String> = [
            "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "dfn", "del", "em", "font", "i", "ins", "kbd", "mark",
            "q",
            "ruby", "rb", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
        ]
    }
}
