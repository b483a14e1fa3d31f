/// An entry of a document's outline (ISO 32000-2 §12.3.3).
public struct PDFOutlineItem: Sendable, Equatable {
    public var title: String
    /// The page that it leads to, counted from 0; nil when it leads to none of this document.
    public var page: Int?
    public var children: [PDFOutlineItem]

    public init(title: String, page: Int?, children: [PDFOutlineItem] = []) {
        self.title = title
        self.page = page
        self.children = children
    }
}
