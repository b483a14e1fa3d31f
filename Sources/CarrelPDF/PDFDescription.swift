/// What a PDF document is made of, apart from what stands on its pages.
public struct PDFDescription: Sendable, Equatable {
    public var metadata: PDFMetadata
    public var pageCount: Int
    /// Whether its pages follow each other from right to left (`/Direction /R2L`, ISO 32000-2 §12.2).
    public var isRightToLeft: Bool
    public var outline: [PDFOutlineItem]
    /// What stands on each page as its number, such as `iv`; empty when the document has no page labels.
    public var pageLabels: [String]
    /// Nil when it is not encrypted.
    public var encryption: PDFEncryption?
    /// What is wrong with it and could be read all the same, as lower-case sentences.
    public var warnings: [String]
}
