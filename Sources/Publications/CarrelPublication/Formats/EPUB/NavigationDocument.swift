// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The navigation document of EPUB 3 (§7): table of contents, page list, landmarks, and further lists.
///
/// Read event by event, because the order of text and elements in a label matters. Of HTML, as W3C publications have it, it reads
/// the lists that `role` names.
struct NavigationDocument {
    /// The lists by their `epub:type`: `toc`, `page-list`, `landmarks`, `loi`, ….
    private(set) var lists: [String: [Link]] = [:]

    private let path: ResourcePath
    /// Whether `role` names the lists, in any element, lists need no order, and end tags may be missing.
    private let isHTML: Bool
    /// The types of the open `nav`; nil outside of a `nav`.
    private var types: [String]?
    /// In HTML, the element that has them, and how many of its name are open in it.
    private var holder = (name: "", count: 0)
    /// The open lists and items, outermost first.
    private var levels: [[Link]] = []
    private var items: [Item] = []
    /// Depth of elements within the open label; nil outside of a label.
    private var labelDepth: Int?
    /// The limit that ended reading early; nil if the whole document was read.
    private(set) var cutOff: Malformed?

    /// Bytes of a label after which nothing is added to it.
    static let labelSize = 4096
    /// The maximum number of types of one `nav`: the list is stored once for each type.
    private static let typeLimit = 4

    /// Lists of HTML in each other at most.
    private static let depthLimit = 64

    private struct Item {
        var label = ""
        /// The words of a picture in the label.
        var picture = ""
        /// The title of the label's own element.
        var title = ""
        var href: String?
        var type: String?
        var children: [Link] = []
    }

    /// - Parameter path: the document's path, the base of its addresses.
    init(at path: ResourcePath) {
        self.path = path
        isHTML = false
    }

    /// - Parameters:
    ///   - html: the document.
    ///   - path: the document's path.
    init(html: String, at path: ResourcePath) {
        self.path = path
        isHTML = true
        var scanner = HTMLScanner(html)
        // deeper nesting only serves to exhaust memory
        while levels.count < Self.depthLimit, let event = scanner.next() { take(event) }
        if levels.count >= Self.depthLimit { cutOff = Malformed("lists nest deeper than \(Self.depthLimit)", at: 0) }
        closeLists()
    }

    /// Reads the document of a container, a piece at a time.
    ///
    /// - Parameters:
    ///   - path: the document's path.
    ///   - fetcher: the container's fetcher.
    /// - Returns: its lists, up to a limit.
    /// - Throws: `resource.malformed` if it is not XML; errors of reading.
    static func read(_ path: ResourcePath, _ fetcher: any Fetcher) async throws(ResourceError) -> NavigationDocument {
        var document = NavigationDocument(at: path)
        var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
        try await EPUBDocument.stream(path, fetcher) { (piece) throws(Malformed) in
            do throws(Malformed) { document.add(try reader.read(piece)) } catch {
                guard reader.isOverLimit else { throw error }
                document.add(reader.readSoFar())
                document.cutOff = error
                document.closeLists()
            }
            return document.cutOff == nil
        }
        if document.cutOff != nil { return document }
        do throws(Malformed) { document.add(try reader.finish()) } catch { throw EPUBDocument.malformed(path, error) }
        return document
    }

    mutating func add(_ events: [XMLEvent]) {
        for event in events { take(event) }
    }

    private mutating func take(_ event: XMLEvent) {
        switch event {
        case .start(let name, let attributes): start(name.local, attributes)
        case .text(let text):
            if labelDepth != nil { add(text, to: \.label) }
        case .end(let name): end(name.local)
        }
    }

    private mutating func start(_ name: String, _ attributes: [XMLAttribute]) {
        func value(_ local: String, _ namespace: String? = nil) -> String? {
            attributes.first { $0.name.local == local && $0.name.namespace == namespace }?.value
        }
        if let depth = labelDepth {
            if name == "br" { add(" ", to: \.label) }
            if Self.pictures.contains(name) { add(" \(Self.words(value("alt")) ?? value("title") ?? "")", to: \.picture) }
            return labelDepth = depth + 1
        }
        if isHTML { hold(name, role: value("role")) }
        switch name {
        case "nav" where !isHTML: types = Array(EPUBDocument.tokens(value("type", EPUBNamespace.ops)).prefix(Self.typeLimit))
        case "ol" where types != nil, "ul" where types != nil && isHTML: levels.append([])
        case "li" where !levels.isEmpty:
            endItem()
            items.append(Item())
        case "a" where isHTML && items.last?.href != nil: break
        case "a" where !items.isEmpty, "span" where !items.isEmpty:
            labelDepth = 0
            items[items.count - 1].href = value("href")
            items[items.count - 1].type = value("type", EPUBNamespace.ops)
            add(value("title") ?? "", to: \.title)
        default: break
        }
    }

    /// Elements that show a picture, and may say it in words.
    private static let pictures: Set<String> = ["img", "image", "object", "svg"]

    private mutating func add(_ text: String, to part: WritableKeyPath<Item, String>) {
        guard !items.isEmpty, items[items.count - 1][keyPath: part].utf8.count < Self.labelSize else { return }
        items[items.count - 1][keyPath: part] += text
    }

    private static func words(_ text: String?) -> String? {
        let words = (text ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return words.isEmpty ? nil : words
    }

    /// Notes where lists begin in HTML (Publication Manifest §C.2).
    private mutating func hold(_ name: String, role: String?) {
        if types != nil {
            if name == holder.name { holder.count += 1 }
        } else if let type = EPUBDocument.tokens(role).compactMap({ Self.roles[$0] }).first {
            types = [type]
            holder = (name, 1)
        }
    }

    private static let roles = ["doc-toc": "toc", "doc-pagelist": "page-list"]

    /// Ends an item: in HTML, when the next item begins or the list ends.
    private mutating func endItem() {
        if isHTML, items.count == levels.count { end("li") }
    }

    private mutating func end(_ name: String) {
        // elements left open in a link of HTML end with it
        if let depth = labelDepth { return labelDepth = depth > 0 && !(isHTML && name == "a") ? depth - 1 : nil }
        defer {
            if isHTML, types != nil, name == holder.name {
                holder.count -= 1
                if holder.count == 0 { endLists() }
            }
        }
        switch name {
        case "nav" where !isHTML: endLists()
        case "ol",
            "ul" where isHTML:
            endItem()
            guard let list = levels.popLast() else { return }
            if !items.isEmpty {
                items[items.count - 1].children = list
            } else {
                for type in types ?? [] where lists[type] == nil { lists[type] = list }
            }
        case "li":
            guard let item = items.popLast(), !levels.isEmpty else { return }
            levels[levels.count - 1] += links(item)
        default: break
        }
    }

    /// Closes open lists if the document ends early.
    private mutating func closeLists() {
        labelDepth = nil
        while !levels.isEmpty {
            while items.count >= levels.count { end("li") }
            end("ol")
        }
        endLists()
        lists = lists.filter { !$0.value.isEmpty }
    }

    private mutating func endLists() {
        types = nil
        levels = []
        items = []
    }

    /// The entry of an item, labeled by its text or its image's. An item without a label is replaced by its children; an item
    /// without a target and children is omitted.
    private func links(_ item: Item) -> [Link] {
        guard let label = Self.words(item.label) ?? Self.words(item.picture) ?? Self.words(item.title) else {
            return item.children
        }
        let href = item.href.flatMap { NavigationTarget.href($0, in: path) }
        guard href != nil || !item.children.isEmpty else { return [] }
        var link = Link(href: href ?? "#", title: label, children: item.children)
        if let type = item.type {
            link.relations = EPUBDocument.tokens(type).map { "http://idpf.org/epub/vocab/structure/#\($0)" }
        }
        return [link]
    }
}

/// The target of an entry of a navigation document.
enum NavigationTarget {
    /// - Parameters:
    ///   - href: an address relative to the document.
    ///   - path: the document's path.
    /// - Returns: the address in the container, with its fragment; absolute addresses unchanged.
    static func href(_ href: String, in path: ResourcePath) -> String? {
        if ResourcePath.hasScheme(href) { return href }
        guard let target = ResourcePath(href: href, relativeTo: path) else { return nil }
        return target.href + (href.firstIndex(of: "#").map { String(href[$0...]) } ?? "")
    }
}
