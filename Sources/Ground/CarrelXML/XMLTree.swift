// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Puts a document together from bytes as they come, so that they need not be in memory as a whole.
package struct XMLTree: ~Copyable {
    private var reader: XMLReader
    private var root: XMLElement?
    private var open: [XMLElement] = []
    /// Names of elements that part words, such as `br`: each is a space in the text around it.
    private let spaces: Set<String>
    /// Whether a limit ended the document, and nothing else was wrong with it.
    package var isOverLimit: Bool { reader.isOverLimit }

    /// The bytes read at a time, so that few events are in memory in addition to the elements.
    private static let pieceSize = 64 << 10

    /// - Parameters:
    ///   - limits: the limits of the document.
    ///   - documentType: the treatment of a DOCTYPE.
    ///   - spaces: names of elements that separate words, such as `br`: each is a space in the text around it.
    package init(limits: XMLLimits = XMLLimits(), documentType: XMLDocumentType = .refused, spaces: Set<String> = []) {
        self.spaces = spaces
        reader = XMLReader(limits: limits, documentType: documentType)
    }

    /// Reads the next bytes of the document.
    ///
    /// - Parameter bytes: the next bytes.
    /// - Throws: the errors of ``XMLReader``.
    package mutating func read(_ bytes: RawSpan) throws(Malformed) {
        for start in stride(from: 0, to: bytes.byteCount, by: Self.pieceSize) {
            add(try reader.read(bytes.extracting(start..<min(start + Self.pieceSize, bytes.byteCount))))
        }
    }

    /// The end of the document.
    ///
    /// - Returns: its root.
    /// - Throws: when something is missing.
    package mutating func finish() throws(Malformed) -> XMLElement {
        add(try reader.finish())
        guard let root else { throw Malformed("the XML has no element", at: 0) }
        return root
    }

    /// The document as far as it was read, after a limit ended it: elements that are open end here.
    ///
    /// - Returns: its root; nil where not even that began.
    package mutating func finishEarly() -> XMLElement? {
        add(reader.readSoFar())
        while !open.isEmpty { end() }
        return root
    }

    private mutating func add(_ events: [XMLEvent]) {
        for event in events {
            switch event {
            case .start(let name, let attributes): open.append(XMLElement(name, attributes: attributes))
            case .text(let text): if !open.isEmpty { open[open.count - 1].text += text }
            case .end: end()
            }
        }
    }

    private mutating func end() {
        guard let element = open.popLast() else { return }
        guard !open.isEmpty else { return root = element }
        if spaces.contains(element.name.local) { open[open.count - 1].text += " " }
        open[open.count - 1].children.append(element)
    }
}

extension XMLElement {
    /// The root of a document, as ``XMLReader`` reads it.
    package static func parse(
        _ bytes: RawSpan,
        limits: XMLLimits = XMLLimits(),
        documentType: XMLDocumentType = .refused
    ) throws(Malformed) -> XMLElement {
        var tree = XMLTree(limits: limits, documentType: documentType)
        try tree.read(bytes)
        return try tree.finish()
    }
}
