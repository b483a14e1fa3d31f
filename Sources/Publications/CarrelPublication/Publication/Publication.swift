// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// An opened publication: its manifest, its resources, and its services.
///
/// It is either open or restricted, from the beginning to the end; to unlock a publication, open it again.
public final class Publication: Sendable {
    /// The manifest, parsed or made from the publication's own format.
    public let manifest: Manifest
    /// The kind of publication.
    public let format: Format

    private let fetcher: any Fetcher
    private let services: [any PublicationService]
    /// Built at the first lookup of a link: a shelf needs none.
    private let index = Locked<LinkIndex?>(nil)

    init(_ builder: Builder) {
        manifest = builder.manifest
        format = builder.format
        fetcher = builder.fetcher
        services = builder.services.make(PublicationServiceContext(manifest: builder.manifest, fetcher: builder.fetcher))
    }

    /// The metadata of the manifest.
    public var metadata: Metadata { manifest.metadata }
    /// The resources in the order of reading.
    public var readingOrder: [Link] { manifest.readingOrder }
    /// The table of contents of the manifest; may be empty.
    public var tableOfContents: [Link] { manifest.tableOfContents }
    /// The places that a reader looks for by their kind, such as the cover or the start of the text (EPUB 3.3 §7.4.4).
    public var landmarks: [Link] { manifest.landmarks }
    /// The pages of the printed edition, in their order (EPUB 3.3 §7.4.3).
    public var pageList: [Link] { manifest.pageList }

    /// Whether the publication follows a profile of the manifest (Readium Web Publication Manifest, "conformsTo").
    ///
    /// - Parameter profile: such as ``Metadata/Profile/audiobook``.
    /// - Returns: whether the manifest declares the profile; the content is not checked.
    public func conforms(to profile: Metadata.Profile) -> Bool { manifest.conforms(to: profile) }

    /// The link of the manifest that leads to the same resource as an address.
    ///
    /// - Parameter href: however it is spelled; its query and fragment do not count.
    /// - Returns: nil if the manifest has none.
    public func link(withHREF href: String) -> Link? {
        let manifest = manifest
        return index.withLock { index in
            if let index { return index.link(href, in: manifest) }
            let made = LinkIndex(manifest)
            index = made
            return made.link(href, in: manifest)
        }
    }

    /// The links of the manifest and of the services that have a relation.
    ///
    /// - Parameter relation: the relation, such as `cover`.
    /// - Returns: the links; first the manifest's.
    public func links(withRelation relation: String) -> [Link] {
        // no picture is drawn from what cannot be read
        let serving = isRestricted ? services.filter { !($0 is any RenderingService) } : services
        return (manifest.links + manifest.readingOrder + manifest.resources + serving.flatMap(\.links))
            .filter { $0.relations.contains(relation) }
    }

    /// The resource of a link; a restricted publication only provides its cover and the resources of its services.
    ///
    /// - Parameter link: a link of the manifest, or a link with any address in the publication.
    /// - Returns: a resource that the caller closes; if it is forbidden or unreadable, reading fails.
    public func get(_ link: Link) -> any Resource {
        for service in services {
            if let resource = service.get(link) { return resource }
        }
        let known = self.link(withHREF: link.href) ?? link
        // a cover that is encrypted like the rest would be no picture
        if isRestricted, !known.relations.contains("cover") || known.properties.encryption != nil {
            return FailingResource(
                known,
                ResourceError(.forbidden, protectionErrorMessage ?? "the publication is restricted")
            )
        }
        return fetcher.get(known)
    }

    /// The resource at an address.
    ///
    /// - Parameter href: the address, relative to the manifest or absolute.
    /// - Returns: the resource; reading it fails if there is none.
    public func get(_ href: String) -> any Resource { get(Link(href: href)) }

    /// The first service of a type, such as `findService(ContentProtectionService.self)`.
    public func findService<Service>(_ type: Service.Type) -> Service? {
        for service in services {
            if let found = service as? Service { return found }
        }
        return nil
    }

    /// All services of a type.
    public func findServices<Service>(_ type: Service.Type) -> [Service] { services.compactMap { $0 as? Service } }

    /// Closes connections and releases the services and containers. Reads in progress finish or fail.
    ///
    /// The descriptor of a file is closed with the last object that could read from it: this publication, or a resource obtained
    /// from it.
    public func close() {
        for service in services { service.close() }
        fetcher.close()
    }
}
