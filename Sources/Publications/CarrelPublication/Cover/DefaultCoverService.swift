// SPDX-License-Identifier: Apache-2.0

import CarrelAudio

/// The cover that a publication names, or else its first page, or the picture in its sound.
package final class DefaultCoverService: CoverService, RenderingService {
    private let manifest: Manifest
    private let fetcher: any Fetcher
    private let found = AsyncLazy<Cover?>()

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
        try await found.value { [self] () async throws(ResourceError) in
            do throws(ResourceError) {
                return try await find()
            } catch  where error.code != .unavailable && error.code != .cancelled {
                // encrypted, damaged, missing: the publication can be read without its cover
                return nil
            }
        }
    }

    /// The link that the manifest calls the cover.
    private var named: Link? {
        (manifest.links + manifest.resources + manifest.readingOrder).first(withRelation: "cover")
    }

    private func find() async throws(ResourceError) -> Cover? {
        if let named { return try await picture(named) }
        guard let first = manifest.readingOrder.first, let type = first.mediaType else { return nil }
        if type.isBitmap { return try await picture(first) }
        if type.isAudio { return try await AudioTagsReader.describe(fetcher.get(first)).tags.cover.flatMap { Cover($0.bytes) } }
        if type.matches(Format.pdf.mediaType) { return try await PDFCover.draw(fetcher.get(first)) }
        return nil
    }

    private func picture(_ link: Link) async throws(ResourceError) -> Cover? {
        let bytes = try await fetcher.get(link).read(upTo: Cover.limit)
        if link.mediaType?.essence == "image/svg+xml" { return Cover(drawing: bytes) }
        return Cover(bytes)
    }
}
