// SPDX-License-Identifier: Apache-2.0

/// A link to a resource (Readium Web Publication Manifest, "The Link Object").
public struct Link: Sendable, Equatable {
    /// The address, relative to the publication or absolute; percent-encoded (RFC 3986), or a URI template (RFC 6570).
    public var href: String
    /// Whether ``href`` is a URI template (RFC 6570).
    public var isTemplated: Bool
    /// The media type of the resource; nil if the manifest does not name it.
    public var mediaType: MediaType?
    /// Further members of the link, such as its encryption.
    public var properties: Properties
    /// Rare members. A publication has tens of thousands of links, and copying a link copies its fields.
    private var rest: Rest?

    /// The title of the resource, such as the name of a chapter.
    public var title: String? {
        get { rest?.fields.title }
        set { change { $0.title = newValue } }
    }
    /// Relations to the publication, such as `cover` or `self`.
    public var relations: [String] {
        get { rest?.fields.relations ?? [] }
        set { change { $0.relations = newValue } }
    }
    /// Pixels.
    public var width: Int? {
        get { rest?.fields.width }
        set { change { $0.width = newValue } }
    }
    /// Pixels.
    public var height: Int? {
        get { rest?.fields.height }
        set { change { $0.height = newValue } }
    }
    /// Kilobits per second.
    public var bitrate: Double? {
        get { rest?.fields.bitrate }
        set { change { $0.bitrate = newValue } }
    }
    /// Seconds.
    public var duration: Double? {
        get { rest?.fields.duration }
        set { change { $0.duration = newValue } }
    }
    /// BCP 47 tags.
    public var languages: [String] {
        get { rest?.fields.languages ?? [] }
        set { change { $0.languages = newValue } }
    }
    /// The same content in other forms.
    public var alternates: [Link] {
        get { rest?.fields.alternates ?? [] }
        set { change { $0.alternates = newValue } }
    }
    var hasAlternates: Bool { rest.map { !$0.fields.alternates.isEmpty } ?? false }
    /// Links below it in a table of contents.
    public var children: [Link] {
        get { rest?.fields.children ?? [] }
        set { change { $0.children = newValue } }
    }

    private struct Fields: Sendable, Equatable {
        var title: String?
        var relations: [String] = []
        var width: Int?
        var height: Int?
        var bitrate: Double?
        var duration: Double?
        var languages: [String] = []
        var alternates: [Link] = []
        var children: [Link] = []

        var isEmpty: Bool {
            title == nil && relations.isEmpty && width == nil && height == nil && bitrate == nil && duration == nil
                && languages.isEmpty && alternates.isEmpty && children.isEmpty
        }
    }

    /// Shared by copies, and never changed.
    private final class Rest: Sendable, Equatable {
        let fields: Fields

        init(_ fields: Fields) {
            self.fields = fields
        }

        static func == (a: Rest, b: Rest) -> Bool { a === b || a.fields == b.fields }
    }

    private mutating func change(_ body: (inout Fields) -> Void) {
        var fields = rest?.fields ?? Fields()
        body(&fields)
        rest = fields.isEmpty ? nil : Rest(fields)
    }

    /// Creates a link.
    ///
    /// - Parameters:
    ///   - href: a percent-encoded address (RFC 3986), relative to the publication or absolute.
    ///   - isTemplated: whether `href` is a URI template (RFC 6570).
    ///   - mediaType: the media type of the resource.
    ///   - title: the title of the resource.
    ///   - relations: relations to the publication, such as `cover`.
    ///   - properties: further members.
    ///   - duration: seconds.
    ///   - alternates: the same content in other forms.
    ///   - children: links below this one in a table of contents.
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
        self.properties = properties
        let isPlain = title == nil && relations.isEmpty && duration == nil && alternates.isEmpty && children.isEmpty
        if isPlain { return }
        rest = Rest(Fields(title: title, relations: relations, duration: duration, alternates: alternates, children: children))
    }

    /// A link to a place in the container.
    public init(_ path: ResourcePath, mediaType: MediaType? = nil) {
        href = path.href
        isTemplated = false
        self.mediaType = mediaType
        properties = Properties()
    }

    /// The path in the container, without query and fragment; nil if the address leads out of it.
    public var path: ResourcePath? { ResourcePath(href: href) }

    /// The fragment of the address, still encoded.
    public var fragment: Substring? { href.firstIndex(of: "#").map { href[href.index(after: $0)...] } }
}

extension [Link] {
    /// The first link of a relation.
    ///
    /// - Parameter relation: the relation, such as `cover`.
    /// - Returns: the link, or nil.
    public func first(withRelation relation: String) -> Link? { first { $0.relations.contains(relation) } }
}
