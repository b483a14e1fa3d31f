// SPDX-License-Identifier: Apache-2.0

/// The pages of a document in their order.
///
/// The page tree is walked here, because libqpdf recurses through it without a limit of depth.
struct PDFPages {
    private(set) var count = 0
    /// The index of each page, from 0, by its object.
    private(set) var places: [PDFObject.Number: Int] = [:]
    /// Whether pages are missing, because the tree has cycles, is too deep or too large.
    private(set) var isIncomplete = false

    private static let limit = 200_000
    private static let depthLimit = 100

    /// - Parameters:
    ///   - root: the catalog.
    ///   - document: that it is of.
    /// - Throws: `pdf.too-large`.
    init(_ root: borrowing PDFObject, _ document: PDFHandle) throws(PDFError) {
        var seen: Set<PDFObject.Number> = []
        try walk(root["/Pages"], document, depth: 0, &seen)
    }

    private mutating func walk(
        _ node: borrowing PDFObject,
        _ document: PDFHandle,
        depth: Int,
        _ seen: inout Set<PDFObject.Number>
    ) throws(PDFError) {
        try document.spend()
        guard depth < Self.depthLimit, count < Self.limit else {
            isIncomplete = true
            return
        }
        guard node.isDictionary else { return }
        let kids = node["/Kids"]
        guard kids.isArray else {
            // a node without kids is a page, whatever it calls itself
            guard node["/Type"].name != "/Pages" else { return }
            if let number = node.number, places[number] == nil { places[number] = count }
            count += 1
            return
        }
        if let number = node.number, !seen.insert(number).inserted {
            isIncomplete = true
            return
        }
        for index in 0..<kids.count { try walk(kids[index], document, depth: depth + 1, &seen) }
    }
}
