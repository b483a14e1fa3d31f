/// A link to a resource (Readium Web Publication Manifest, "The Link Object").
public struct Link: Sendable, Equatable {
    /// The address, relative to the publication or absolute; percent-encoded (RFC 3986), or a URI template (RFC 6570).
    public var href: String
    public var isTemplated: Bool
    public var mediaType: MediaType?
    public var title: String?
    /// What the link is to the publication, such as `cover` or `self`.
    public var relations: [String]
    public var properties: Properties
    /// Pixels.
    public var width: Int?
    /// Pixels.
    public var height: Int?
    /// Kilobits per second.
    public var bitrate: Double?
    /// Seconds.
    public var duration: Double?
    /// BCP 47 tags.
    public var languages: [String]
    /// The same content in other forms.
    public var alternates: [Link]
    /// What lies below it in a table of contents.
    public var children: [Link]

    public init(
        href: String,
        isTemplated: Bool = false,
        mediaType: MediaType? = nil,
        title: String? = nil,
        relations: [String] = [],
        properties: Properties = Properties(),
        duration: Double? = nil,
        alternates: [Link] = [],
        children: [Link] = []
    ) {
        self.href = href
        self.isTemplated = isTemplated
        self.mediaType = mediaType
        self.title = title
        self.relations = relations
        self.properties = properties
        self.duration = duration
        self.languages = []
        self.alternates = alternates
        self.children = children
    }

    /// A link to a place in the container.
    public init(_ path: ResourcePath, mediaType: MediaType? = nil) {
        self.init(href: path.href, mediaType: mediaType)
    }

    /// Where in the container the address leads, without its query and fragment; nil when it leads elsewhere.
    public var path: ResourcePath? { ResourcePath(href: href) }

    /// What follows `#` in the address, still encoded.
    public var fragment: Substring? { href.firstIndex(of: "#").map { href[href.index(after: $0)...] } }
}

extension [Link] {
    /// The first link of a relation.
    public func first(withRelation relation: String) -> Link? { first { $0.relations.contains(relation) } }
}
