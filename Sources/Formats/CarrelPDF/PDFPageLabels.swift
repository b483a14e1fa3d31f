// SPDX-License-Identifier: Apache-2.0

/// The labels of a document's pages (ISO 32000-2 §12.4.2).
enum PDFPageLabels {
    /// A run of pages that are counted alike.
    private struct Run {
        let first: Int
        let style: String?
        let prefix: String
        let start: Int
    }

    private static let prefixLimit = 64

    /// Reads the labels of a document's pages.
    ///
    /// - Parameters:
    ///   - root: the catalog.
    ///   - pageCount: the page count of the document.
    ///   - document: the document of the catalog.
    /// - Returns: a label for each page; empty if the document has no labels.
    /// - Throws: `pdf.too-large`.
    static func read(_ root: borrowing PDFObject, pageCount: Int, _ document: PDFHandle) throws(PDFError) -> [String] {
        var runs: [Run] = []
        try PDFTree.each(root["/PageLabels"], "/Nums", document) { key, value in
            guard let first = key.integer, 0..<pageCount ~= first, first > runs.last?.first ?? -1 else { return }
            let prefix = String((value["/P"].text ?? "").prefix(prefixLimit))
            let start = value["/St"].integer.flatMap { 1...1_000_000_000 ~= $0 ? $0 : nil } ?? 1
            runs.append(Run(first: first, style: value["/S"].name, prefix: prefix, start: start))
        }
        guard !runs.isEmpty else { return [] }
        // pages before the first run have plain numbers
        if runs[0].first > 0 { runs.insert(Run(first: 0, style: "/D", prefix: "", start: 1), at: 0) }
        var labels: [String] = []
        labels.reserveCapacity(pageCount)
        for (index, run) in runs.enumerated() {
            let end = index + 1 < runs.count ? runs[index + 1].first : pageCount
            for page in run.first..<end { labels.append(run.prefix + number(run.start + page - run.first, run.style)) }
        }
        return labels
    }

    static func number(_ value: Int, _ style: String?) -> String {
        switch style {
        case "/D": "\(value)"
        case "/R": roman(value)
        case "/r": roman(value).lowercased()
        case "/A": letters(value)
        case "/a": letters(value).lowercased()
        default: ""
        }
    }

    private static func roman(_ value: Int) -> String {
        guard 1...9999 ~= value else { return "\(value)" }
        let signs = [
            (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
            (9, "IX"),
            (5, "V"), (4, "IV"), (1, "I"),
        ]
        var (remainder, text) = (value, "")
        for (amount, sign) in signs {
            while remainder >= amount {
                text += sign
                remainder -= amount
            }
        }
        return text
    }

    /// A to Z, then AA to ZZ, and so on.
    private static func letters(_ value: Int) -> String {
        let times = (value - 1) / 26 + 1
        guard value > 0, times <= 32 else { return "\(value)" }
        let letter = Character(Unicode.Scalar(UInt8(ascii: "A") + UInt8((value - 1) % 26)))
        return String(repeating: letter, count: times)
    }
}
