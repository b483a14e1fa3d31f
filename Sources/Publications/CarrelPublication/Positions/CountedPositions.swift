// SPDX-License-Identifier: Apache-2.0

/// Positions that follow from lengths and counts: without reading or requests.
///
/// A reflowable text has one for each 1,024 bytes of its stored size, compressed and encrypted; all readers that count like
/// Readium's toolkits agree. A page of fixed layout and an image have one, a PDF document one for each page. Audio has none: its
/// positions are times.
final class CountedPositions: PositionsService {
    private let manifest: Manifest
    private let fetcher: any Fetcher

    private static let pageLength: Int64 = 1024
    /// The limits of positions of a resource and of a publication; beyond them a resource has one: the length is declared by an
    /// untrusted source.
    private static let resourceLimit: Int64 = 100_000
    private static let limit = 1_000_000

    /// - Parameter context: of a publication. Nil for an audiobook.
    init?(_ context: PublicationServiceContext) {
        let order = context.manifest.readingOrder
        guard !order.isEmpty, !context.manifest.conforms(to: .audiobook),
            !order.allSatisfy({ $0.mediaType.map { $0.isAudio || $0.isVideo } ?? false })
        else { return nil }
        manifest = context.manifest
        fetcher = context.fetcher
    }

    func positionsByReadingOrder() async throws(ResourceError) -> [[Locator]] {
        let counts = await positionCountsByReadingOrder()
        let total = counts.reduce(0, +)
        var before = 0
        var positions: [[Locator]] = []
        positions.reserveCapacity(counts.count)
        for (link, count) in zip(manifest.readingOrder, counts) {
            positions.append((0..<count).map { Self.locator(link, $0, of: count, after: before, total) })
            before += count
        }
        return positions
    }

    func positionCountsByReadingOrder() async -> [Int] {
        let counts = manifest.readingOrder.map(count)
        return counts.reduce(0, +) > Self.limit ? counts.map { _ in 1 } : counts
    }

    private func count(_ link: Link) -> Int {
        if isPDF(link) {
            let pages = manifest.readingOrder.count == 1 ? manifest.metadata.numberOfPages ?? 1 : 1
            return Int(min(Self.resourceLimit, Int64(pages)))
        }
        guard link.mediaType?.isHTML ?? false, !isFixed(link) else { return 1 }
        // without a container the length that the manifest gives, if it does
        guard let length = (fetcher.storedLength(of: link) ?? link.properties.encryption?.originalLength)?.byteCount else {
            return 1
        }
        let count = length / Self.pageLength + (length % Self.pageLength > 0 ? 1 : 0)
        return count > Self.resourceLimit ? 1 : max(1, Int(count))
    }

    private func isPDF(_ link: Link) -> Bool { link.mediaType?.matches(Format.pdf.mediaType) ?? false }

    /// Whether a resource has fixed layout: its own declaration takes precedence over the publication's.
    private func isFixed(_ link: Link) -> Bool {
        link.properties.layout.map { $0 == .fixed } ?? (manifest.metadata.layout == .fixed)
    }

    private static func locator(_ link: Link, _ index: Int, of count: Int, after before: Int, _ total: Int) -> Locator {
        let type = link.mediaType ?? Format.unknown.mediaType
        var locator = Locator(href: link.href, mediaType: type, title: link.title)
        locator.locations.position = before + index + 1
        locator.locations.progression = Double(index) / Double(count)
        locator.locations.totalProgression = Double(before + index) / Double(total)
        if type.matches(Format.pdf.mediaType) { locator.locations.fragments = ["page=\(index + 1)"] }
        return locator
    }
}
