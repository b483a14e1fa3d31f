// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPDF

/// Opens PDF documents.
struct PDFParser: PublicationParser {
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .pdf) else { return nil }
        let warnings = Warnings(warnings)
        var manifest: Manifest
        do throws(ResourceError) {
            guard let first = try await fetcher.links().first, let source = try await PDFSource(fetcher) else {
                throw ResourceError(.malformed, "it is no PDF document")
            }
            let document = Link(href: first.href, mediaType: Format.pdf.mediaType)
            manifest = Manifest(metadata: Metadata(title: ContainerTitle.of([], in: asset)), readingOrder: [document])
            manifest.metadata.conformsTo = [.pdf]
            if let description = try await Self.description(source) {
                Self.add(description, to: &manifest)
                for warning in description.warnings { warnings.add(.minor, warning) }
            }
        } catch {
            throw Publication.OpeningError(error)
        }
        return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
    }

    /// The metadata of a document; nil if a password or a technology that was not opened closes it.
    private static func description(_ source: PDFSource) async throws(ResourceError) -> PDFDescription? {
        do throws(ResourceError) {
            return try await source.describe()
        } catch  where error.code == .forbidden || error.code == .decryption {
            return nil
        }
    }

    private static func add(_ description: PDFDescription, to manifest: inout Manifest) {
        let said = description.metadata
        var metadata = manifest.metadata
        if let title = said.title { metadata.title = LocalizedString(title) }
        metadata.identifier = said.identifier
        metadata.languages = said.languages
        metadata.description = said.description
        metadata.modified = said.modified
        metadata.subjects = said.subjects.map { Subject(name: LocalizedString($0)) }
        metadata.numberOfPages = description.pageCount
        if description.isRightToLeft { metadata.readingProgression = .rtl }
        let roles: [(ContributorRole, [String])] = [(.author, said.authors), (.publisher, said.publishers)]
        for (role, names) in roles where !names.isEmpty {
            metadata.contributors[role] = names.map { Contributor(name: LocalizedString($0)) }
        }
        manifest.metadata = metadata
        let href = manifest.readingOrder[0].href
        manifest.tableOfContents = links(description.outline, href)
        if !description.pageLabels.isEmpty {
            let pages = description.pageLabels.enumerated().map { index, label in
                Link(href: "\(href)#page=\(index + 1)", title: label)
            }
            manifest.subcollections["pageList"] = [PublicationCollection(links: pages)]
        }
    }

    /// Converts entries of the outline; an entry without a page leads to its first child's.
    private static func links(_ items: [PDFOutlineItem], _ href: String) -> [Link] {
        items.map { item in
            let children = links(item.children, href)
            let place = item.page.map { "\(href)#page=\($0 + 1)" } ?? children.first?.href ?? href
            return Link(href: place, title: item.title, children: children)
        }
    }
}
