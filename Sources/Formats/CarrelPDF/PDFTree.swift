// SPDX-License-Identifier: Apache-2.0

/// The leaves of a name tree or a number tree (ISO 32000-2 §7.9.6, §7.9.7).
enum PDFTree {
    private static let depthLimit = 32
    private static let limit = 200_000

    /// Calls `body` with each key and its value, in order.
    ///
    /// - Parameters:
    ///   - root: the root of the tree.
    ///   - leaves: `/Names` or `/Nums`.
    ///   - document: the document of the tree.
    ///   - body: gets each key and value.
    /// - Throws: `pdf.too-large`, or the errors of `body`.
    static func each(
        _ root: borrowing PDFObject,
        _ leaves: String,
        _ document: PDFHandle,
        _ body: (_ key: borrowing PDFObject, _ value: borrowing PDFObject) throws(PDFError) -> Void
    ) throws(PDFError) {
        var (seen, remaining): (Set<PDFObject.Number>, Int) = ([], limit)
        try walk(root, leaves, document, depth: 0, &seen, &remaining, body)
    }

    private static func walk(
        _ node: borrowing PDFObject,
        _ leaves: String,
        _ document: PDFHandle,
        depth: Int,
        _ seen: inout Set<PDFObject.Number>,
        _ remaining: inout Int,
        _ body: (_ key: borrowing PDFObject, _ value: borrowing PDFObject) throws(PDFError) -> Void
    ) throws(PDFError) {
        try document.spend()
        guard depth < depthLimit, node.isDictionary else { return }
        if let number = node.number, !seen.insert(number).inserted { return }
        let entries = node[leaves]
        for index in stride(from: 0, to: entries.count - 1, by: 2) where remaining > 0 {
            remaining -= 1
            try document.spend()
            try body(entries[index], entries[index + 1])
        }
        let kids = node["/Kids"]
        for index in 0..<kids.count where remaining > 0 {
            try walk(kids[index], leaves, document, depth: depth + 1, &seen, &remaining, body)
        }
    }
}
