import CarrelJSON
import CarrelXML

/// The NCX of EPUB 2 (OPF 2.0.1 §2.4.1): table of contents, page list and further lists.
struct NCXDocument {
    let contents: [Link]
    let pages: [Link]
    /// Lists of illustrations, tables and the like, by their classes, such as `loi`; `navList` where there is none.
    let lists: [String: [PublicationCollection]]

    init(_ root: XMLElement, at path: ResourcePath) {
        contents = (root.child("navMap")?.all("navPoint") ?? []).compactMap { Self.point($0, path) }
        pages = (root.child("pageList")?.all("pageTarget") ?? []).compactMap { Self.point($0, path) }
        var lists: [String: [PublicationCollection]] = [:]
        for list in root.all("navList") {
            let links = list.all("navTarget").compactMap { Self.point($0, path) }
            guard !links.isEmpty else { continue }
            var collection = PublicationCollection(links: links)
            let title = Self.title(list)
            if !title.isEmpty { collection.metadata["title"] = .string(title) }
            let role = PackageDocument.words(list["class"]).first.map { String($0) }
            lists[role.flatMap { Manifest.members.contains($0) ? nil : $0 } ?? "navList", default: []].append(collection)
        }
        self.lists = lists
    }

    private static func title(_ element: XMLElement) -> String {
        let label = element.child("navLabel")?.child("text").map(label) ?? ""
        return label.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func point(_ element: XMLElement, _ path: ResourcePath) -> Link? {
        let title = title(element)
        let href = element.child("content")?["src"].flatMap { NavigationTarget.href($0, in: path) }
        let children = element.all("navPoint").compactMap { point($0, path) }
        guard !title.isEmpty, href != nil || !children.isEmpty else { return nil }
        return Link(href: href ?? "#", title: title, children: children)
    }

    /// Labels hold text alone; what others put in as elements comes behind it.
    private static func label(_ element: XMLElement) -> String {
        var label = ""
        func add(_ element: XMLElement) {
            guard label.utf8.count < NavigationDocument.labelSize else { return }
            label += " " + element.text
            for child in element.children { add(child) }
        }
        add(element)
        return label
    }
}
