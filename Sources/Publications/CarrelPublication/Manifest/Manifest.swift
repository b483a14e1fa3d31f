// SPDX-License-Identifier: Apache-2.0

public import CarrelJSON

/// The metadata and the resources of a publication (Readium Web Publication Manifest).
public struct Manifest: Sendable, Equatable {
    /// URIs of JSON-LD contexts.
    public var context: [String]
    /// The metadata: title, contributors, languages and more.
    public var metadata: Metadata
    /// Links about the publication as a whole, such as `self` and `cover`.
    public var links: [Link]
    /// The resources in the order of reading.
    public var readingOrder: [Link]
    /// Further resources: images, styles, fonts.
    public var resources: [Link]
    /// The table of contents; chapters below others are their `children`.
    public var tableOfContents: [Link]
    /// Further collections by their role, such as `landmarks`, `pageList`, `guided`.
    public var subcollections: [String: [PublicationCollection]]

    /// The media type of the manifest itself.
    public static let mediaType = MediaType(known: "application/webpub+json")

    /// Creates a manifest with the default context.
    ///
    /// - Parameters:
    ///   - metadata: at least a title.
    ///   - readingOrder: resources in the order of reading.
    ///   - resources: further resources.
    ///   - tableOfContents: a tree of links into the reading order.
    public init(metadata: Metadata, readingOrder: [Link] = [], resources: [Link] = [], tableOfContents: [Link] = []) {
        context = ["https://readium.org/webpub-manifest/context.jsonld"]
        self.metadata = metadata
        links = []
        self.readingOrder = readingOrder
        self.resources = resources
        self.tableOfContents = tableOfContents
        subcollections = [:]
    }

    /// Links to parts of structure, such as the beginning of the text (EPUB 3.3, "The landmarks nav Element").
    public var landmarks: [Link] { collection("landmarks") }
    /// Links to the pages of a printed edition (EPUB 3.3, "The page-list nav Element").
    public var pageList: [Link] { collection("pageList") }

    /// The links of the collections of a role.
    ///
    /// - Parameter role: the role, such as `landmarks`.
    /// - Returns: the links; none for an unknown role.
    public func collection(_ role: String) -> [Link] { (subcollections[role] ?? []).flatMap(\.links) }

    /// Whether it declares that it follows a profile.
    public func conforms(to profile: Metadata.Profile) -> Bool { metadata.conformsTo.contains(profile) }
}

/// A collection of links outside the reading order, such as a list of illustrations.
public struct PublicationCollection: Sendable, Equatable {
    /// Members of the collection's metadata, unparsed.
    public var metadata: JSONObject
    /// The links of the collection, in order.
    public var links: [Link]
    /// Nested collections by role.
    public var subcollections: [String: [PublicationCollection]]

    /// Creates a collection without metadata.
    public init(links: [Link]) {
        metadata = JSONObject()
        self.links = links
        subcollections = [:]
    }
}
