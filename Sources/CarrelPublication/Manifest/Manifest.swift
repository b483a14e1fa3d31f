public import CarrelJSON

/// What a publication is made of (Readium Web Publication Manifest).
public struct Manifest: Sendable, Equatable {
    /// URIs of JSON-LD contexts.
    public var context: [String]
    public var metadata: Metadata
    public var links: [Link]
    /// What is read, in its order.
    public var readingOrder: [Link]
    /// What is needed besides: images, styles, fonts.
    public var resources: [Link]
    public var tableOfContents: [Link]
    /// Further collections by their role, such as `landmarks`, `pageList`, `guided`.
    public var subcollections: [String: [PublicationCollection]]

    /// Of the manifest itself.
    public static let mediaType = MediaType("application/webpub+json")!

    public init(metadata: Metadata, readingOrder: [Link] = [], resources: [Link] = [], tableOfContents: [Link] = []) {
        context = ["https://readium.org/webpub-manifest/context.jsonld"]
        self.metadata = metadata
        links = []
        self.readingOrder = readingOrder
        self.resources = resources
        self.tableOfContents = tableOfContents
        subcollections = [:]
    }

    public var landmarks: [Link] { collection("landmarks") }
    public var pageList: [Link] { collection("pageList") }

    /// The links of the collections of a role.
    public func collection(_ role: String) -> [Link] { (subcollections[role] ?? []).flatMap(\.links) }

    /// Whether it says of itself that it follows a profile.
    public func conforms(to profile: Metadata.Profile) -> Bool { metadata.conformsTo.contains(profile) }
}

/// A collection of links beside the reading order, such as a list of illustrations.
public struct PublicationCollection: Sendable, Equatable {
    public var metadata: JSONObject
    public var links: [Link]
    public var subcollections: [String: [PublicationCollection]]

    public init(links: [Link]) {
        metadata = JSONObject()
        self.links = links
        subcollections = [:]
    }
}
