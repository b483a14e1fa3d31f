// SPDX-License-Identifier: Apache-2.0

/// The PDF documents of a package that need a password of their own. A publication has one protection: their passwords cannot be
/// asked for.
enum LockedDocuments {
    /// Documents that are looked at: two small parts of each are read.
    private static let limit = 100

    /// - Parameters:
    ///   - manifest: the package's manifest.
    ///   - fetcher: its resources, unlocked.
    ///   - warnings: hears of a locked document that a reader can do without.
    /// - Throws: `resource.forbidden` for one of the reading order that nothing can be read instead of; `resource.cancelled`.
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
            // one that is missing, damaged or closed by a protection is found out when it is read
            if error.code == .cancelled { throw error }
            return false
        }
    }
}
