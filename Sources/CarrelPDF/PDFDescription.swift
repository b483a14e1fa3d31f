/// What a PDF document is made of, apart from what stands on its pages.
package struct PDFDescription: Sendable, Equatable {
    package var metadata: PDFMetadata
    package var pageCount: Int
    /// Whether its pages follow each other from right to left (`/Direction /R2L`, ISO 32000-2 §12.2).
    package var isRightToLeft: Bool
    package var outline: [PDFOutlineItem]
    /// What stands on each page as its number, such as `iv`; empty when the document has no page labels.
    package var pageLabels: [String]
    /// Nil when it is not encrypted.
    package var encryption: PDFEncryption?
    /// What is wrong with it and could be read all the same, as lower-case sentences.
    package var warnings: [String]
}
