import CarrelXML

/// Takes what a package document says while it is read: its items and the references of its spine, of which there may be very many, one
/// by one, and its metadata and its guide as trees.
final class PackageVisitor: XMLVisitor {
    let path: ResourcePath
    /// Without its content.
    private(set) var root: XMLElement?
    /// The first `metadata` and the first `guide`.
    private(set) var trees: [String: XMLElement] = [:]
    private(set) var items: [PackageDocument.Item] = []
    /// The first `spine`, without its content.
    private(set) var order: XMLElement?
    private(set) var spine: [PackageDocument.SpineItem] = []
    /// Numbers, from 1, of items and references that say too little; no more of them than anybody would read.
    private(set) var badItems: [Int] = []
    private(set) var badReferences: [Int] = []

    private var depth = 0
    private var section = ""
    private var seen: Set<String> = []
    /// The open elements of a tree.
    private var open: [XMLElement] = []
    private var itemNumber = 0
    private var referenceNumber = 0
    /// Types that were read before; a package has few.
    private var types: [String: MediaType] = [:]

    private static let badLimit = 1000

    init(at path: ResourcePath) {
        self.path = path
    }

    var takesText: Bool { !open.isEmpty }

    func start(_ tag: XMLTag) {
        depth += 1
        if !open.isEmpty { return open.append(tag.element) }
        switch depth {
        case 1: root = tag.element
        case 2:
            guard ["metadata", "manifest", "spine", "guide"].contains(tag.local), seen.insert(tag.local).inserted else { return }
            section = tag.local
            if section == "metadata" || section == "guide" { open = [tag.element] }
            if section == "spine" { order = tag.element }
        case 3 where section == "manifest" && tag.isNamed("item"): addItem(tag)
        case 3 where section == "spine" && tag.isNamed("itemref"): addReference(tag)
        default: break
        }
    }

    func take(_ text: String) {
        if !open.isEmpty { open[open.count - 1].text += text }
    }

    func end() {
        depth -= 1
        if let done = open.popLast() {
            if open.isEmpty { trees[section] = done } else { open[open.count - 1].children.append(done) }
        }
        if depth == 1 { section = "" }
    }

    private func addItem(_ tag: XMLTag) {
        itemNumber += 1
        guard let id = tag["id"], let href = tag["href"], !href.isEmpty else {
            if badItems.count < Self.badLimit { badItems.append(itemNumber) }
            return
        }
        let target = ResourcePath(href: href, relativeTo: path)
        items.append(
            PackageDocument.Item(
                id: id,
                path: target,
                href: target?.href ?? href,
                mediaType: tag["media-type"].flatMap { mediaType($0) },
                properties: PackageDocument.words(tag["properties"]),
                fallback: tag["fallback"],
                mediaOverlay: tag["media-overlay"]
            )
        )
    }

    private func mediaType(_ text: String) -> MediaType? {
        if let known = types[text] { return known }
        let type = MediaType(text)
        types[text] = type
        return type
    }

    private func addReference(_ tag: XMLTag) {
        referenceNumber += 1
        guard let id = tag["idref"] else {
            if badReferences.count < Self.badLimit { badReferences.append(referenceNumber) }
            return
        }
        spine.append(
            PackageDocument.SpineItem(
                id: id,
                isLinear: tag["linear"] != "no",
                properties: PackageDocument.words(tag["properties"])
            )
        )
    }
}
