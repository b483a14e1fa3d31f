// SPDX-License-Identifier: Apache-2.0

/// A PDF document that a test writes object by object.
package struct TestPDF: Sendable {
    /// The texts between `obj` and `endobj`; the first has number 1.
    package var objects: [String]
    /// Further entries of the trailer, such as `/Info 3 0 R`.
    package var trailer = ""

    /// - Parameter objects: the first is the catalog.
    package init(_ objects: [String]) {
        self.objects = objects
    }

    /// A document of empty pages.
    ///
    /// - Parameters:
    ///   - pages: at least one. They are objects 3 and following; the page tree is object 2.
    ///   - catalog: further entries of the catalog.
    ///   - others: objects after the pages.
    package init(pages: Int, catalog: String = "", others: [String] = []) {
        let kids = (0..<pages).map { "\($0 + 3) 0 R" }.joined(separator: " ")
        objects = ["<< /Type /Catalog /Pages 2 0 R \(catalog) >>", "<< /Type /Pages /Count \(pages) /Kids [\(kids)] >>"]
        objects += (0..<pages).map { _ in "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 300] /Resources << >> >>" }
        objects += others
    }

    /// A document with words in Helvetica on its pages, line by line from the top.
    ///
    /// - Parameters:
    ///   - words: the words of each page, without brackets and backslashes.
    ///   - page: entries of each page.
    ///   - catalog: further entries of the catalog.
    ///   - others: objects after the pages, from number 4 + 2 × pages. Page n, from 0, is object 3 + 2 × n.
    package init(
        words: [String],
        page: String = "/MediaBox [0 0 200 300]",
        catalog: String = "",
        others: [String] = []
    ) {
        let kids = words.indices.map { "\(3 + 2 * $0) 0 R" }.joined(separator: " ")
        let font = 3 + 2 * words.count
        objects = ["<< /Type /Catalog /Pages 2 0 R \(catalog) >>", "<< /Type /Pages /Count \(words.count) /Kids [\(kids)] >>"]
        for (index, text) in words.enumerated() {
            let lines = text.split(separator: "\n").map { "(\($0)) Tj T*" }.joined(separator: " ")
            let content = "BT /F 12 Tf 14 TL 20 250 Td \(lines) ET"
            objects.append(
                "<< /Type /Page /Parent 2 0 R \(page) /Resources << /Font << /F \(font) 0 R >> >> /Contents \(4 + 2 * index) 0 R >>"
            )
            objects.append("<< /Length \(content.utf8.count) >>\nstream\n\(content)\nendstream")
        }
        objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        objects += others
    }

    /// The file.
    package var bytes: [UInt8] {
        var text = "%PDF-1.7\n"
        var places: [Int] = []
        for (index, object) in objects.enumerated() {
            places.append(text.utf8.count)
            text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
        }
        let start = text.utf8.count
        text += "xref\n0 \(objects.count + 1)\n0000000000 65535 f \n"
        for place in places { text += "\(String(10_000_000_000 + place).dropFirst()) 00000 n \n" }
        text += "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R \(trailer) >>\nstartxref\n\(start)\n%%EOF\n"
        return Array(text.utf8)
    }
}
