// SPDX-License-Identifier: Apache-2.0

import CarrelAudio

/// The cover that a publication names, or else its first page, or the picture in its sound.
package final class DefaultCoverService: CoverService, RenderingService {
    private let manifest: Manifest
    private let fetcher: any Fetcher
    private let found = AsyncLazy<Found>()

    /// The cover, and what allows to read it; nil if nothing can end.
    private struct Found: Sendable {
        let cover: Cover?
        let access: (any RevocableResource)?
    }

    package init(_ context: PublicationServiceContext) {
        manifest = context.manifest
        fetcher = context.fetcher
    }

    /// A generated cover is not among the links of the manifest.
    package var links: [Link] {
        guard named == nil, let first = manifest.readingOrder.first?.mediaType,
            first.isAudio || first.matches(Format.pdf.mediaType)
        else { return [] }
        return [Link(href: Cover.href, relations: ["cover"])]
    }

    package func cover() async throws(ResourceError) -> Cover? {
        guard let link = named ?? manifest.readingOrder.first else { return nil }
        let found = try await found.value { [self] () async throws(ResourceError) in
            let resource = fetcher.get(link)
            let access = resource as? any RevocableResource
            do throws(ResourceError) {
                return Found(cover: try await picture(link, in: resource), access: access)
            } catch  where error.code != .unavailable && error.code != .cancelled {
                // the license ended meanwhile: the cover is not damaged
                try access?.checkAccess()
                // encrypted, damaged, missing: the publication can be read without its cover
                return Found(cover: nil, access: access)
            }
        }
        // the cover is kept, and the license may have ended since
        try found.access?.checkAccess()
        return found.cover
    }

    /// The link that the manifest calls the cover.
    private var named: Link? {
        (manifest.links + manifest.resources + manifest.readingOrder).first(withRelation: "cover")
    }

    private func picture(_ link: Link, in resource: any Resource) async throws(ResourceError) -> Cover? {
        guard named == nil else { return try await picture(resource, link.mediaType) }
        guard let type = link.mediaType else { return nil }
        if type.isBitmap { return try await picture(resource, type) }
        if type.isAudio { return try await AudioTagsReader.describe(resource).tags.cover.flatMap { Cover($0.bytes) } }
        if type.matches(Format.pdf.mediaType) { return try await PDFCover.draw(resource) }
        return nil
    }

    private func picture(_ resource: any Resource, _ type: MediaType?) async throws(ResourceError) -> Cover? {
        let bytes = try await resource.read(upTo: Cover.limit)
        if type?.essence == "image/svg+xml" { return Cover(drawing: bytes) }
        return Cover(bytes)
    }
}
