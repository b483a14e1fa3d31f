// SPDX-License-Identifier: Apache-2.0

/// The mark that a PDF document has near its beginning.
package enum PDFHeader {
    /// Readers look for it from each of the first 1,024 offsets, and PDFium from one more (ISO 32000-1 Annex H.3;
    /// `GetHeaderOffset` of PDFium).
    private static let lastOffset = 1024
    private static let mark = Array("%PDF-".utf8)
    /// Bytes from the beginning of a file that ``isIn(_:)`` looks at.
    package static let window = lastOffset + mark.count

    /// Whether a file that begins with these bytes is a PDF document.
    package static func isIn(_ head: [UInt8]) -> Bool {
        begins(head, mark[...])
    }

    /// Whether a viewer may treat a file that begins with these bytes as a PDF document: PDFium does not require the hyphen.
    package static func mayBeIn(_ head: [UInt8]) -> Bool {
        begins(head, mark.dropLast())
    }

    private static func begins(_ head: [UInt8], _ mark: ArraySlice<UInt8>) -> Bool {
        head.indices.prefix(lastOffset + 1).contains { head[$0] == mark.first && head[$0...].starts(with: mark) }
    }
}
