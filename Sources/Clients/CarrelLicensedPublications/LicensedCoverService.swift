// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// The cover of a protected publication: the only content that costs no use.
///
/// A manifest outside the encryption can call any entry the cover. So the cover is a bitmap, by its decrypted bytes, and no protected
/// resource of the reading order. Of a PDF or an audiobook in a DCF it is the picture of the first page, or the one in its sound.
final class LicensedCoverService: CoverService, RenderingService {
    private let clear: DefaultCoverService

    /// - Parameters:
    ///   - manifest: the manifest of the publication.
    ///   - fetcher: reads without a count; not closed.
    init(_ manifest: Manifest, _ fetcher: GuardedFetcher) {
        var manifest = manifest
        let order = manifest.readingOrder
        let pages = Set(order.filter(fetcher.isProtected).compactMap(\.path))
        func isPage(_ link: Link) -> Bool { link.path.map(pages.contains) ?? false }
        manifest.links.removeAll(where: isPage)
        manifest.resources.removeAll(where: isPage)
        manifest.readingOrder.removeAll(where: isPage)
        if var first = order.first, isPage(first), fetcher.entry(first) == nil, let type = first.mediaType,
            type.isAudio || type.matches(Format.pdf.mediaType)
        {
            // its bytes are not a picture
            first.relations = []
            manifest.readingOrder = [first]
        }
        clear = DefaultCoverService(PublicationServiceContext(manifest: manifest, fetcher: fetcher))
    }

    var links: [Link] { clear.links }

    func cover() async throws(ResourceError) -> Cover? {
        guard let cover = try await clear.cover() else { return nil }
        // a drawing (SVG) may have the words of a page, and is recognized by its declared type alone
        return Cover(cover.bytes)
    }
}
