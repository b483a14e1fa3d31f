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
            let pages =
                isSingle
                ? paths
                : paths.filter { $0.fileExtension.flatMap { Format(fileExtension: $0) }?.conforms(to: .bitmap) == true }
                    .sorted(by: ContainerTitle.isBefore)
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
            return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
        } catch {
            throw Publication.OpeningError(error)
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
