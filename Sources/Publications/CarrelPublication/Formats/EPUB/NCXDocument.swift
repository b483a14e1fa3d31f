// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelXML

/// The NCX of EPUB 2 (OPF 2.0.1 §2.4.1): table of contents, page list and further lists.
struct NCXDocument {
    let contents: [Link]
    let pages: [Link]
    /// Lists of illustrations, tables and the like, by their classes, such as `loi`; `navList` if there is none.
    let lists: [String: [PublicationCollection]]

    init(_ root: XMLElement, at path: ResourcePath) {
        contents = (root.child("navMap")?.all("navPoint") ?? []).flatMap { Self.points($0, path) }
        pages = (root.child("pageList")?.all("pageTarget") ?? []).flatMap { Self.points($0, path) }
        var lists: [String: [PublicationCollection]] = [:]
        for list in root.all("navList") {
            let links = list.all("navTarget").flatMap { Self.points($0, path) }
            guard !links.isEmpty else { continue }
            var collection = PublicationCollection(links: links)
            let title = Self.title(list)
            if !title.isEmpty { collection.metadata["title"] = .string(title) }
            let role = EPUBDocument.tokens(list["class"]).first.map { String($0) }
            lists[role.flatMap { Manifest.members.contains($0) ? nil : $0 } ?? "navList", default: []].append(collection)
        }
        self.lists = lists
    }

    private static func title(_ element: XMLElement) -> String {
        guard let text = element.child("navLabel")?.child("text") else { return "" }
        let words = Self.words(label(text))
        return words.isEmpty ? Self.words(pictures(text)) : words
    }

    private static func words(_ text: String) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

    /// In the place of an entry without a label are those below it.
    private static func points(_ element: XMLElement, _ path: ResourcePath) -> [Link] {
        let title = title(element)
        let href = element.child("content")?["src"].flatMap { NavigationTarget.href($0, in: path) }
        let children = element.all("navPoint").flatMap { points($0, path) }
        if title.isEmpty { return children }
        guard href != nil || !children.isEmpty else { return [] }
        return [Link(href: href ?? "#", title: title, children: children)]
    }

    /// Labels contain only text; elements inside them come after it.
    private static func label(_ element: XMLElement) -> String {
        var label = ""
        func add(_ element: XMLElement) {
            guard label.utf8.count < NavigationDocument.labelSize else { return }
            label += " "
            label += element.text.prefix(NavigationDocument.labelSize)
            for child in element.children { add(child) }
        }
        add(element)
        return label
    }

    /// The words of the pictures in a label.
    private static func pictures(_ element: XMLElement) -> String {
        var words = ""
        func add(_ element: XMLElement) {
            guard words.utf8.count < NavigationDocument.labelSize else { return }
            if element.name.local == "img" { words += " " + (element["alt"] ?? element["title"] ?? "") }
            for child in element.children { add(child) }
        }
        add(element)
        return words
    }
}
