import CarrelXML

/// Opens archives of images (CBZ), with what a `ComicInfo.xml` in them says.
struct ComicParser: PublicationParser {
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .informalComic) || format.conforms(to: .bitmap) else { return nil }
        let warnings = Warnings(warnings)
        do throws(ResourceError) {
            let paths = try await fetcher.paths().filter { !ContainerTitle.isLitter($0) }
            // what a single file is was seen by its bytes; its name may say nothing
            let isSingle = format.conforms(to: .bitmap)
            let pages = isSingle ? paths : try await NaturalSorting.sorted(paths.filter(Self.isPage))
            guard !pages.isEmpty else { throw ResourceError(.malformed, "there is no image in the archive") }
            var metadata = Metadata(title: ContainerTitle.of(pages, in: asset))
            metadata.conformsTo = [.divina]
            var manifest = Manifest(
                metadata: metadata,
                readingOrder: pages.map { path in
                    Link(
                        path,
                        mediaType: isSingle
                            ? format.mediaType : path.fileExtension.flatMap { Format(fileExtension: $0)?.mediaType }
                    )
                }
            )
            if let path = paths.first(where: { $0.name == "ComicInfo.xml" }) {
                try await Self.add(path, fetcher, to: &manifest, warnings)
            }
            if !manifest.readingOrder.contains(where: { $0.relations.contains("cover") }) {
                manifest.readingOrder[0].relations = ["cover"]
            }
            manifest.metadata.numberOfPages = pages.count
            if warnings.logger != nil, !asset.isRemote { try await Self.check(manifest.readingOrder, fetcher, warnings) }
            return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
        } catch {
            throw Publication.OpeningError(error)
        }
    }

    private static func isPage(_ path: ResourcePath) -> Bool {
        path.fileExtension.flatMap { Format(fileExtension: $0) }?.conforms(to: .bitmap) == true
    }

    /// Pages that are looked at, at most.
    private static let checkLimit = 2000

    /// Looks whether each page can be read: whether its entry is there, and is packed in a way that is known.
    private static func check(_ pages: [Link], _ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) {
        for (index, link) in pages.prefix(checkLimit).enumerated() {
            let resource = fetcher.get(link)
            defer { resource.close() }
            do throws(ResourceError) {
                if try await resource.read(0..<1).isEmpty {
                    warnings.add(.major, "page \(index + 1), \"\(link.href)\", is empty")
                }
            } catch {
                if error.code == .cancelled { throw error }
                warnings.add(.major, "page \(index + 1) cannot be read: \(error.message)")
            }
        }
    }

    private static func add(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        to manifest: inout Manifest,
        _ warnings: Warnings
    ) async throws(ResourceError) {
        do throws(ResourceError) {
            ComicInfo(try await EPUBDocument.read(path, fetcher)).add(to: &manifest)
        } catch  where error.code == .malformed || error.code == .tooLarge {
            warnings.add(.moderate, error.message)
        }
    }
}
