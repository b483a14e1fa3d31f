/// The primary entry page of a W3C publication: HTML, which says where the publication's manifest is (Publication Manifest §4.2, LPF §4).
///
/// Read as loosely as HTML is written: only `link`, `script` and `title` elements count, and only their start tags are understood.
struct EntryPage {
    /// Where the manifest is: a relative address, or `#` and the name of a script.
    private(set) var manifest: String?
    private(set) var title: String?
    /// The texts of scripts that hold data (`application/ld+json`), by their names.
    private var scripts: [String: Substring] = [:]

    static let path: ResourcePath = "index.html"
    /// Bytes of a page at most.
    static let limit = 1 << 20

    init(_ text: String) {
        var rest = text[...]
        var isInBody = false
        while let open = rest.firstIndex(of: "<") {
            rest = rest[open...].dropFirst()
            if rest.hasPrefix("!--") {
                guard let end = rest.firstRange(of: "-->") else { return }
                rest = rest[end.upperBound...]
                continue
            }
            let name = rest.prefix { $0.isLetter }.lowercased()
            guard ["link", "script", "title", "body"].contains(name), manifest == nil || name != "link" else { continue }
            rest = rest.dropFirst(name.count)
            let attributes = Self.attributes(&rest)
            switch name {
            case "link":
                let relations = (attributes["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace)
                if relations.contains("publication") { manifest = attributes["href"] }
            case "script":
                let content = Self.content(&rest, upTo: "</script")
                if let id = attributes["id"], attributes["type"]?.lowercased() == "application/ld+json" { scripts[id] = content }
            case "body": isInBody = true
            default:
                // in the body it is that of a drawing
                if isInBody { continue }
                let content = Self.decoded(Self.content(&rest, upTo: "</title"))
                let words = content.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                if title == nil, !words.isEmpty { title = words }
            }
        }
    }

    /// The manifest, where the page itself holds it.
    var embedded: Substring? {
        guard let manifest, manifest.hasPrefix("#") else { return nil }
        return scripts[String(manifest.dropFirst())]
    }

    private static func content(_ rest: inout Substring, upTo end: String) -> Substring {
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

    /// A text with its character references replaced: those that HTML needs, and numbers.
    private static func decoded(_ text: Substring) -> String {
        let named: [Substring: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{a0}"]
        var (result, rest) = ("", text)
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            let name = rest[start...].dropFirst().prefix(10).prefix { $0 != ";" }
            let end = name.endIndex
            let scalar =
                name.hasPrefix("#x") || name.hasPrefix("#X")
                ? UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
                : name.hasPrefix("#") ? UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init) : named[name]
            if let scalar, end < rest.endIndex, rest[end] == ";" {
                result.unicodeScalars.append(scalar)
                rest = rest[end...].dropFirst()
            } else {
                result += "&"
                rest = rest[start...].dropFirst()
            }
        }
        return result + rest
    }

    /// The attributes of a start tag, up to its end.
    private static func attributes(_ rest: inout Substring) -> [String: String] {
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
            if found[key] == nil, found.count < 64 { found[key] = String(value.replacing("&amp;", with: "&")) }
        }
        rest = rest.dropFirst()
        return found
    }
}
