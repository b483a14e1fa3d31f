// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// Collects a package document while it is read: its items and spine references, which may be very many, one by one, and its
/// metadata and guide as trees.
final class PackageVisitor: XMLVisitor {
    let path: ResourcePath
    private let folder: String
    /// Without its content.
    private(set) var root: XMLElement?
    /// The first `metadata` and the first `guide`.
    private(set) var trees: [String: XMLElement] = [:]
    private(set) var items: [PackageItem] = []
    /// The first `spine`, without its content.
    private(set) var order: XMLElement?
    private(set) var spine: [PackageSpineItem] = []
    /// Numbers, from 1, of items and references that lack an attribute; only the first few.
    private(set) var badItems: [Int] = []
    private(set) var badReferences: [Int] = []

    private var depth = 0
    private var section: Section?
    private var seen: Set<Section> = []
    /// The open elements of a tree.
    private var open: [XMLElement] = []
    private var itemNumber = 0
    private var referenceNumber = 0
    /// Types that were read before; a package has few.
    private var types: [String: MediaType] = [:]
    /// The type of the previous item, which is usually the same for all.
    private var type: (text: String, known: MediaType?) = ("", nil)

    private enum Section: String {
        case metadata, manifest, spine, guide
    }

    private static let badLimit = 1000

    init(at path: ResourcePath) {
        self.path = path
        folder = path.folder
    }

    var takesText: Bool { !open.isEmpty }

    func start(_ tag: borrowing XMLTag) {
        depth += 1
        if !open.isEmpty { return open.append(tag.element) }
        switch depth {
        case 1: root = tag.element
        case 2:
            guard let found = Section(rawValue: tag.local), seen.insert(found).inserted else { return }
            section = found
            if found == .metadata || found == .guide { open = [tag.element] }
            if found == .spine { order = tag.element }
        case 3 where section == .manifest && tag.isNamed("item"): addItem(tag)
        case 3 where section == .spine && tag.isNamed("itemref"): addReference(tag)
        default: break
        }
    }

    func take(_ text: String) {
        if !open.isEmpty { open[open.count - 1].text += text }
    }

    func end() {
        depth -= 1
        if let done = open.popLast() {
            if let section, open.isEmpty { trees[section.rawValue] = done }
            if !open.isEmpty { open[open.count - 1].children.append(done) }
        }
        if depth == 1 { section = nil }
    }

    private func addItem(_ tag: borrowing XMLTag) {
        itemNumber += 1
        guard let id = tag["id"], let href = tag["href"], !href.isEmpty else {
            if badItems.count < Self.badLimit { badItems.append(itemNumber) }
            return
        }
        let target = ResourcePath(plain: href, in: folder) ?? ResourcePath(href: href, relativeTo: path)
        items.append(
            PackageItem(
                id: id,
                path: target,
                href: target?.href ?? href,
                mediaType: mediaType(tag),
                properties: EPUBDocument.tokens(tag["properties"]),
                fallback: tag["fallback"],
                mediaOverlay: tag["media-overlay"]
            )
        )
    }

    private func mediaType(_ tag: borrowing XMLTag) -> MediaType? {
        if tag.has("media-type", type.text, isPlain: true) { return type.known }
        guard let text = tag["media-type"] else { return nil }
        let known = types[text] ?? MediaType(text)
        if let known { types[text] = known }
        type = (text, known)
        return known
    }

    private func addReference(_ tag: borrowing XMLTag) {
        referenceNumber += 1
        guard let id = tag["idref"] else {
            if badReferences.count < Self.badLimit { badReferences.append(referenceNumber) }
            return
        }
        spine.append(
            PackageSpineItem(
                id: id,
                isLinear: tag["linear"] != "no",
                properties: EPUBDocument.tokens(tag["properties"])
            )
        )
    }
}
