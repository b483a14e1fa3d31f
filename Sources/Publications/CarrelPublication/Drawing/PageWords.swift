// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The words of a rendered page with their positions, in points from the upper left corner of the page as displayed.
package struct PageWords: Sendable, Equatable {
    package struct Word: Sendable, Equatable {
        package let text: String
        package let x: Double
        package let y: Double
        package let width: Double
        package let height: Double
    }

    /// Words of a line, from its beginning.
    package typealias Line = [Word]

    /// The page's width in points before rotation: if the image is upright and the page is not, width and height are swapped.
    package private(set) var width = 0.0
    package private(set) var height = 0.0
    /// Paragraphs and the like, in the order in which they are read.
    package private(set) var blocks: [[Line]] = []

    private static let wordLimit = 20_000
    /// Characters of a word: some documents have whole lines without a blank.
    private static let textLimit = 1_000
    private static let limits = XMLLimits(bytes: 8 << 20, depth: 16, elements: 100_000, text: 1 << 20)

    init() {}

    /// - Parameter document: the output of `pdftotext -bbox-layout` for one page (XHTML). An unreadable document has no words.
    init(_ document: [UInt8]) {
        // it writes down such characters as the document has, whether XML may have them or not
        let text = String(decoding: document, as: UTF8.self).unicodeScalars.filter {
            ($0.value >= 0x20 || $0.value == 0x0a) && $0.value != 0xfffe && $0.value != 0xffff
        }
        let bytes = Array(String(String.UnicodeScalarView(text)).utf8)
        guard let root = try? XMLElement.parse(bytes.rawSpan, limits: Self.limits, documentType: .skipped),
            let page = root.child("body")?.child("doc")?.child("page")
        else { return }
        width = Self.number(page, "width") ?? 0
        height = Self.number(page, "height") ?? 0
        var left = Self.wordLimit
        for block in page.children.lazy.flatMap(\.children) where left > 0 {
            var lines: [Line] = []
            for line in block.children {
                let words = Array(line.children.lazy.compactMap(Self.word).prefix(left))
                if !words.isEmpty { lines.append(words) }
                left -= words.count
            }
            if !lines.isEmpty { blocks.append(lines) }
        }
    }

    private static func word(_ element: XMLElement) -> Word? {
        guard !element.text.isEmpty, let left = number(element, "xMin"), let top = number(element, "yMin"),
            let right = number(element, "xMax"), let bottom = number(element, "yMax"), right > left, bottom > top
        else { return nil }
        return Word(text: String(element.text.prefix(textLimit)), x: left, y: top, width: right - left, height: bottom - top)
    }

    /// A number in the range of page coordinates; nil for any other.
    private static func number(_ element: XMLElement, _ name: String) -> Double? {
        element[name].flatMap { Double($0) }.flatMap { abs($0) < 1_000_000 ? ($0 * 100).rounded() / 100 : nil }
    }
}
