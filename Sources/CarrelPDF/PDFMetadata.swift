/// What a PDF document says about itself: its XMP packet (ISO 16684-1), or where that is silent its information dictionary
/// (ISO 32000-2 §14.3).
public struct PDFMetadata: Sendable, Equatable {
    public var title: String?
    public var authors: [String] = []
    public var publishers: [String] = []
    /// What it is about, in a sentence or more.
    public var description: String?
    public var subjects: [String] = []
    /// BCP 47 tags.
    public var languages: [String] = []
    /// ISO 8601, a date with or without a time.
    public var modified: String?
    /// What the XMP packet calls its identifier, or else the first file identifier (§14.4), in lower-case hexadecimal.
    public var identifier: String?

    public init() {}
}
