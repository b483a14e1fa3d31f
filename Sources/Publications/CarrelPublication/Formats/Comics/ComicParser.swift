// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Opens archives of images (CBZ), with the metadata of a `ComicInfo.xml` in them.
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
            // the format of a single file was sniffed from its bytes; its name need not show it
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

    /// Pages that are looked at side by side.
    private static let checkWidth = 8

    /// Looks whether each page can be read and is a picture with a size: a few kilobytes of each, of several at a time.
    private static func check(_ pages: [Link], _ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) {
        let count = min(pages.count, checkLimit)
        let faults = await withTaskGroup(of: (Int, Result<String?, ResourceError>).self) { group in
            var faults: [Result<String?, ResourceError>] = Array(repeating: .success(nil), count: count)
            var next = 0
            func add() {
                guard next < count, !Task.isCancelled else { return }
                let index = next
                next += 1
                group.addTask { (index, await fault(of: pages[index], fetcher)) }
            }
            for _ in 0..<checkWidth { add() }
            for await (index, fault) in group {
                faults[index] = fault
                add()
            }
            return faults
        }
        if Task.isCancelled { throw ResourceError(.cancelled, "the opening was cancelled") }
        for (index, fault) in faults.enumerated() {
            switch fault {
            case .success(nil): break
            case .success(let fault?): warnings.add(.major, "page \(index + 1), \"\(pages[index].href)\", \(fault)")
            case .failure(let error):
                if error.code == .cancelled { throw error }
                warnings.add(.major, "page \(index + 1) cannot be read: \(error.message)")
            }
        }
    }

    /// The reason why a page cannot be shown; nil if it can.
    private static func fault(of link: Link, _ fetcher: any Fetcher) async -> Result<String?, ResourceError> {
        let resource = fetcher.get(link)
        defer { resource.close() }
        do throws(ResourceError) {
            var bytes = try await resource.read(0..<PictureHead.size)
            if bytes.isEmpty { return .success("is empty") }
            let length = bytes.count < PictureHead.size ? Int64(bytes.count) : try await resource.length()
            var head = PictureHead(bytes, length: length)
            if head.finding == .unfinished {
                bytes = try await resource.read(0..<PictureHead.largeSize)
                head = PictureHead(bytes, length: length)
            }
            if case .fault(let fault) = head.finding { return .success(fault) }
            let isPacked = fetcher.storedLength(of: link)?.byteCount != length
            guard length == bytes.count || !isPacked else { return .success(nil) }
            let tail = length == bytes.count ? bytes : try await resource.read(max(0, length - PictureHead.size)..<length)
            return .success(head.ends(with: tail) ? nil : "is cut off")
        } catch {
            return .failure(error)
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
