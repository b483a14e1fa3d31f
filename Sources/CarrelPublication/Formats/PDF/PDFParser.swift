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
        let (link, description): (Link, PDFDescription)
        do throws(ResourceError) {
            guard let first = try await fetcher.links().first, let source = try await PDFSource(fetcher) else {
                throw ResourceError(.malformed, "it is no PDF document")
            }
            link = first
            description = try await source.open(password: "") { (document) throws(PDFError) in try document.describe() }
        } catch {
            throw Publication.OpeningError(error)
        }
        for warning in description.warnings { warnings.add(.minor, warning) }
        let manifest = Self.manifest(description, link, untitled: ContainerTitle.of([], in: asset))
        return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
    }

    private static func manifest(_ description: PDFDescription, _ link: Link, untitled: LocalizedString) -> Manifest {
        let said = description.metadata
        var metadata = Metadata(title: said.title.map { LocalizedString($0) } ?? untitled)
        metadata.conformsTo = [.pdf]
        metadata.identifier = said.identifier
        metadata.languages = said.languages
        metadata.description = said.description
        metadata.modified = said.modified
        metadata.subjects = said.subjects.map { Subject(name: LocalizedString($0)) }
        metadata.numberOfPages = description.pageCount
        let roles: [(ContributorRole, [String])] = [(.author, said.authors), (.publisher, said.publishers)]
        for (role, names) in roles where !names.isEmpty {
            metadata.contributors[role] = names.map { Contributor(name: LocalizedString($0)) }
        }
        let document = Link(href: link.href, mediaType: Format.pdf.mediaType)
        var manifest = Manifest(metadata: metadata, readingOrder: [document])
        manifest.tableOfContents = links(description.outline, link.href)
        if !description.pageLabels.isEmpty {
            let pages = description.pageLabels.enumerated().map { index, label in
                Link(href: "\(link.href)#page=\(index + 1)", title: label)
            }
            manifest.subcollections["pageList"] = [PublicationCollection(links: pages)]
        }
        return manifest
    }

    /// Entries of the outline; one that leads to no page leads to where those below it begin.
    private static func links(_ items: [PDFOutlineItem], _ href: String) -> [Link] {
        items.map { item in
            let children = links(item.children, href)
            let place = item.page.map { "\(href)#page=\($0 + 1)" } ?? children.first?.href ?? href
            return Link(href: place, title: item.title, children: children)
        }
    }
}
