// SPDX-License-Identifier: Apache-2.0

/// The PDF documents of a package that have their own password. A publication has one protection: their passwords cannot be
/// requested.
enum LockedDocuments {
    /// Documents that are looked at: two small parts of each are read.
    private static let limit = 100

    /// - Parameters:
    ///   - manifest: the package's manifest.
    ///   - fetcher: its unlocked resources.
    ///   - warnings: receives locked documents outside the reading order.
    /// - Throws: `resource.forbidden` for a locked document of the reading order without an alternative; `resource.cancelled`.
    static func refuse(in manifest: Manifest, _ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) {
        let links = manifest.readingOrder.filter(\.alternates.isEmpty).filter(isPDF)
        let replaceable = manifest.readingOrder.filter { !$0.alternates.isEmpty } + manifest.resources
        let all = links + replaceable.flatMap { [$0] + $0.alternates }.filter(isPDF)
        var (seen, trials): (Set<ResourcePath>, PDFTail.Trials) = ([], PDFTail.Trials())
        for (index, link) in all.enumerated() {
            guard let path = link.path, seen.insert(path).inserted else { continue }
            guard seen.count <= limit else {
                warnings.add(
                    .moderate,
                    "only \(limit) of the PDF documents were looked at; others may need passwords of their own"
                )
                return
            }
            if Task.isCancelled { throw ResourceError(.cancelled, "nobody waits for it any more") }
            guard try await isLocked(link, fetcher, &trials) else { continue }
            let message = "\"\(link.href)\" in the package needs a password of its own, which is not supported"
            guard index >= links.count else { throw ResourceError(.forbidden, message) }
            warnings.add(.major, message)
        }
    }

    private static func isPDF(_ link: Link) -> Bool {
        link.mediaType.map { $0.matches(Format.pdf.mediaType) } ?? (link.path?.fileExtension?.lowercased() == "pdf")
    }

    private static func isLocked(
        _ link: Link,
        _ fetcher: any Fetcher,
        _ trials: inout PDFTail.Trials
    ) async throws(ResourceError) -> Bool {
        do throws(ResourceError) {
            return try await PDFTail.needsPassword(fetcher.get(link), &trials)
        } catch {
            // a missing, damaged or protected document fails when it is read
            if error.code == .cancelled { throw error }
            return false
        }
    }
}
