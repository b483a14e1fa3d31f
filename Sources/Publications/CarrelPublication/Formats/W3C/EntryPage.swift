// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The primary entry page of a W3C publication: HTML, which links to the publication's manifest (Publication Manifest §4.2, LPF
/// §4).
///
/// Parsed leniently: only `link`, `script` and `title` elements count, and only their start tags are understood.
struct EntryPage {
    /// The manifest's address: relative, or `#` and the id of a script.
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
            let attributes = HTMLScanner.attributes(&rest)
            switch name {
            case "link":
                let relations = (attributes["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace)
                if relations.contains("publication") { manifest = attributes["href"] }
            case "script":
                let content = HTMLScanner.content(&rest, upTo: "</script")
                if let id = attributes["id"], attributes["type"]?.lowercased() == "application/ld+json" { scripts[id] = content }
            case "body": isInBody = true
            default:
                // in the body it is a drawing's title
                if isInBody { continue }
                let content = HTMLEntities.decoded(HTMLScanner.content(&rest, upTo: "</title"))
                let words = content.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                if title == nil, !words.isEmpty { title = words }
            }
        }
    }

    /// The manifest, if it is embedded in the page.
    var embedded: Substring? {
        guard let manifest, manifest.hasPrefix("#") else { return nil }
        return scripts[String(manifest.dropFirst())]
    }
}
