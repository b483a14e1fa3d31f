// SPDX-License-Identifier: Apache-2.0

/// Reads the outline of a document: titles, and the pages that they lead to.
struct PDFOutline {
    private let document: PDFHandle
    private let pages: PDFPages
    /// The destinations that have names; nil until one is looked for.
    private var names: [[UInt8]: Int]?
    private var seen: Set<PDFObject.Number> = []
    private var count = 0
    private(set) var isIncomplete = false

    private static let limit = 50_000
    private static let depthLimit = 32

    init(_ document: PDFHandle, _ pages: PDFPages) {
        self.document = document
        self.pages = pages
    }

    /// Reads the entries of the outline.
    ///
    /// - Parameter root: the catalog.
    /// - Returns: the entries of the first level with those below them.
    /// - Throws: `pdf.too-large`.
    mutating func items(_ root: borrowing PDFObject) throws(PDFError) -> [PDFOutlineItem] {
        try items(below: root["/Outlines"], root, depth: 0)
    }

    private mutating func items(
        below parent: borrowing PDFObject,
        _ root: borrowing PDFObject,
        depth: Int
    ) throws(PDFError) -> [PDFOutlineItem] {
        guard parent.isDictionary else { return [] }
        guard depth < Self.depthLimit else {
            isIncomplete = true
            return []
        }
        var entries: [PDFOutlineItem] = []
        var next = parent["/First"]
        while next.isDictionary {
            try document.spend()
            count += 1
            // entries that have no number are nested directly, and end
            let isNew = next.number.map { seen.insert($0).inserted } ?? true
            guard isNew, count <= Self.limit else {
                isIncomplete = true
                break
            }
            let page = try page(of: next, root)
            let children = try items(below: next, root, depth: depth + 1)
            let title = next["/Title"].text
            if title != nil || !children.isEmpty {
                entries.append(PDFOutlineItem(title: title ?? "", page: page, children: children))
            }
            next = next["/Next"]
        }
        return entries
    }

    /// The target page of an entry: of its destination, or of an action that goes to one (§12.3.2, §12.6.4.2).
    private mutating func page(of item: borrowing PDFObject, _ root: borrowing PDFObject) throws(PDFError) -> Int? {
        let destination = item["/Dest"]
        if !destination.isNull { return try page(destination, root) }
        let action = item["/A"]
        guard action["/S"].name == "/GoTo" else { return nil }
        return try page(action["/D"], root)
    }

    private mutating func page(_ destination: borrowing PDFObject, _ root: borrowing PDFObject) throws(PDFError) -> Int? {
        if destination.isArray || destination.isDictionary { return explicit(destination) }
        if let name = destination.name { return explicit(root["/Dests"][name]) }
        guard let name = destination.bytes else { return nil }
        if names == nil { names = try Self.names(root, document, explicit) }
        return names?[name]
    }

    /// The page of an array `[page …]`, or of a dictionary that holds one.
    private func explicit(_ destination: borrowing PDFObject) -> Int? {
        if destination.isDictionary { return first(destination["/D"]) }
        return first(destination)
    }

    private func first(_ array: borrowing PDFObject) -> Int? {
        guard array.count > 0 else { return nil }
        let page = array[0]
        if let number = page.number { return pages.places[number] }
        // some writers use the page's number instead
        guard let index = page.integer, 0..<pages.count ~= index else { return nil }
        return index
    }

    private static func names(
        _ root: borrowing PDFObject,
        _ document: PDFHandle,
        _ page: (borrowing PDFObject) -> Int?
    ) throws(PDFError) -> [[UInt8]: Int] {
        var names: [[UInt8]: Int] = [:]
        try PDFTree.each(root["/Names"]["/Dests"], "/Names", document) { key, value in
            if let name = key.bytes, let index = page(value), names[name] == nil { names[name] = index }
        }
        return names
    }
}
