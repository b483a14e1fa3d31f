import CarrelXML

/// The NCX of EPUB 2 (OPF 2.0.1 §2.4.1): table of contents and page list.
struct NCXDocument {
    let contents: [Link]
    let pages: [Link]

    init(_ root: XMLElement, at path: ResourcePath) {
        contents = (root.child("navMap")?.all("navPoint") ?? []).compactMap { Self.point($0, path) }
        pages = (root.child("pageList")?.all("pageTarget") ?? []).compactMap { Self.point($0, path) }
    }

    private static func point(_ element: XMLElement, _ path: ResourcePath) -> Link? {
        let label = element.child("navLabel")?.child("text").map(label) ?? ""
        let title = label.split(whereSeparator: \.isWhitespace).joined(separator: " ")
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
