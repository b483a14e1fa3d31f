import CarrelXML

/// The package document of an EPUB (EPUB 3.3 §5, OPF 2.0.1): what its elements say, before it becomes a manifest.
struct PackageDocument {
    /// Where it is; addresses in it are relative to it.
    let path: ResourcePath
    /// 2 or 3.
    let majorVersion: Int
    let uniqueIdentifier: String?
    let metadata: PackageMetadata
    let items: [Item]
    let spine: [SpineItem]
    let progression: Metadata.ReadingProgression?
    /// References of an EPUB 2 guide.
    let guide: [Link]
    /// The id of the NCX (EPUB 2, and EPUB 3 for older readers).
    let ncxID: String?

    struct Item {
        let id: String
        let path: ResourcePath?
        let href: String
        let mediaType: MediaType?
        let properties: [String]
        let fallback: String?
        let mediaOverlay: String?
    }

    struct SpineItem {
        let id: String
        let isLinear: Bool
        let properties: [String]
    }

    init(_ root: XMLElement, at path: ResourcePath, _ warnings: Warnings) throws(ResourceError) {
        guard root.name.local == "package" else { throw ResourceError(.malformed, "\"\(path)\" is no package document") }
        self.path = path
        majorVersion = root["version"].flatMap { Int($0.prefix { $0 != "." }) } ?? 2
        let metadata = PackageMetadata(root.child("metadata") ?? XMLElement(XMLName("metadata")), at: path)
        self.metadata = metadata
        uniqueIdentifier = root["unique-identifier"].flatMap { metadata.identifier(withID: $0) } ?? metadata.firstIdentifier
        var types: [String: MediaType] = [:]
        items = (root.child("manifest")?.all("item") ?? []).enumerated().compactMap { index, element in
            let item = Self.item(element, path, &types)
            if item == nil { warnings.add(.minor, "item \(index + 1) of \"\(path)\" has no id or no address and is left out") }
            return item
        }
        let order = root.child("spine")
        spine = (order?.all("itemref") ?? []).enumerated().compactMap { index, element in
            let reference = Self.reference(element)
            if reference == nil {
                warnings.add(.minor, "reference \(index + 1) in the spine of \"\(path)\" leads nowhere and is left out")
            }
            return reference
        }
        progression = order?["page-progression-direction"].map { Metadata.ReadingProgression(rawValue: $0) ?? .auto }
        ncxID = order?["toc"]
        guide = (root.child("guide")?.all("reference") ?? []).compactMap { Self.guideLink($0, path) }
        if order == nil { warnings.add(.major, "\"\(path)\" has no spine") }
    }

    // the types are those that were read before; a package has few
    private static func item(_ element: XMLElement, _ path: ResourcePath, _ types: inout [String: MediaType]) -> Item? {
        guard let id = element["id"], let href = element["href"], !href.isEmpty else { return nil }
        let target = ResourcePath(href: href, relativeTo: path)
        let type = element["media-type"]
        let mediaType = type.flatMap { types[$0] ?? MediaType($0) }
        if let type { types[type] = mediaType }
        return Item(
            id: id,
            path: target,
            href: target?.href ?? href,
            mediaType: mediaType,
            properties: Self.words(element["properties"]),
            fallback: element["fallback"],
            mediaOverlay: element["media-overlay"]
        )
    }

    private static func reference(_ element: XMLElement) -> SpineItem? {
        guard let id = element["idref"] else { return nil }
        return SpineItem(id: id, isLinear: element["linear"] != "no", properties: Self.words(element["properties"]))
    }

    private static func guideLink(_ element: XMLElement, _ path: ResourcePath) -> Link? {
        guard let href = element["href"], let target = ResourcePath(href: href, relativeTo: path) else { return nil }
        var link = Link(href: target.href + (href.firstIndex(of: "#").map { String(href[$0...]) } ?? ""))
        link.title = element["title"]
        // the guide's words for what landmarks call otherwise (EPUB 3.3 Structural Semantics Vocabulary)
        let names = ["text": "bodymatter", "title-page": "titlepage", "acknowledgements": "acknowledgments"]
        if let type = element["type"] { link.relations = ["http://idpf.org/epub/vocab/structure/#\(names[type] ?? type)"] }
        return link
    }

    static func words(_ text: String?) -> [String] {
        (text ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
