// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelWorks
import CarrelZlib

/// Pages of HTML with their resources, to be stored in one blob.
struct PageEdition {
    private let intake: EditionIntake
    private let folder: EditionFolder
    private let source: String

    init(_ intake: EditionIntake, _ folder: EditionFolder, source: String) {
        self.intake = intake
        self.folder = folder
        self.source = source
    }

    func take(_ sourceHash: [UInt8], _ warnings: [String] = []) throws -> IngestedEdition {
        let files = folder.files
        guard let entry = Self.entry(of: files.map(\.path)) else {
            throw IngestError(.notEdition, source, "holds no page of HTML")
        }
        try checkSamples(files.map(\.path))
        let heads = try heads(files)
        var metadata = TitleMetadata(title: try heads[entry]?.title ?? intake.options.untitled.title(of: source))
        metadata.authors = heads[entry]?.author.map { [$0] } ?? []
        metadata.description = heads[entry]?.description
        metadata.language = heads[entry]?.language
        metadata.apply(intake.options.overrides)
        let package = try pack(files, entry, heads, metadata)
        let cover = try intake.cover { try Self.cover(files) }
        return IngestedEdition(
            kind: .edition,
            metadata: metadata,
            sourceHash: sourceHash,
            media: package.blob,
            byteCount: package.byteCount,
            entry: entry,
            resources: package.resources,
            cover: cover,
            warnings: warnings
        )
    }

    /// The page in the top folder that is called index, or else the first.
    private static func entry(of paths: [String]) -> String? {
        ["index.html", "index.xhtml", "index.htm"].lazy.compactMap { name in paths.first { $0.lowercased() == name } }.first
            ?? paths.first(where: ResourceType.isPage)
    }

    /// A pattern that fits nothing is a mistake that would lock what should be open.
    private func checkSamples(_ paths: [String]) throws(IngestError) {
        for pattern in intake.options.samples {
            let compiled = PathPattern(pattern)
            guard paths.contains(where: { compiled.matches($0) }) else {
                throw IngestError(.notEdition, source, "has nothing that the sample \"\(pattern)\" fits")
            }
        }
    }

    /// The metadata of the pages, by their paths.
    private func heads(_ files: [EditionFolder.File]) throws -> [String: PageHead] {
        var heads: [String: PageHead] = [:]
        for file in files where ResourceType.isPage(file.path) {
            let page = try SourceFile(path: file.location, name: file.path, followsLinks: false)
            heads[file.path] = PageHead(try page.bytes(0..<Int64(PageHead.limit)))
        }
        return heads
    }

    private func pack(
        _ files: [EditionFolder.File],
        _ entry: String,
        _ heads: [String: PageHead],
        _ metadata: TitleMetadata
    ) throws -> (blob: BlobID, byteCount: Int64, resources: [EditionResource]) {
        let samples = intake.options.samples.map { PathPattern($0) }
        var writer = PackageWriter(try intake.work.blobs.writer())
        var resources: [EditionResource] = []
        var times: [String: Instant] = [:]
        for (number, file) in files.enumerated() {
            let source = try SourceFile(path: file.location, name: file.path, followsLinks: false)
            var (crc, size) = (CRC32(), Int64(0))
            var hash = SHA256.Stream()
            try source.forEachWindow { window in
                crc.update(window)
                hash.update(window)
                size += Int64(window.byteCount)
            }
            var copyCRC = CRC32()
            let offset = try writer.add(file.path, crc: crc.value, size: size) { write in
                try source.forEachWindow { window in
                    copyCRC.update(window)
                    try write(window)
                }
            }
            guard copyCRC.value == crc.value else { throw IngestError(.unreadable, file.path, "changed while it was read") }
            let digest = String(Hex.encode(hash.finish()).prefix(32))
            let changedAt = intake.history.changedAt(file.path, digest: digest)
            times[file.path] = changedAt
            resources.append(
                EditionResource(
                    path: file.path,
                    mediaType: ResourceType.of(file.path),
                    offset: offset,
                    byteCount: size,
                    digest: digest,
                    changedAt: changedAt,
                    isSample: samples.contains { $0.matches(file.path) }
                )
            )
            try intake.work.progress(IngestProgress(phase: .indexing, done: Int64(number + 1), total: Int64(files.count)))
        }
        if !files.contains(where: { $0.path.lowercased() == EditionFeed.path }) {
            let pages = ([entry] + files.map(\.path).filter { ResourceType.isPage($0) && $0 != entry }).map {
                EditionFeed.Page(
                    path: $0,
                    title: heads[$0]?.title ?? SourceParts.stem($0),
                    mediaType: ResourceType.of($0),
                    changedAt: times[$0] ?? intake.history.now
                )
            }
            let feed = EditionFeed(
                productID: intake.options.productID,
                metadata: metadata,
                changedAt: intake.history.now,
                pages: pages
            ).write()
            var crc = CRC32()
            crc.update(feed.rawSpan)
            let offset = try writer.add(EditionFeed.path, crc: crc.value, size: Int64(feed.count)) { try $0(feed.rawSpan) }
            resources.append(
                EditionResource(
                    path: EditionFeed.path,
                    mediaType: EditionFeed.mediaType,
                    offset: offset,
                    byteCount: Int64(feed.count),
                    digest: String(Hex.encode(SHA256.hash(feed.rawSpan)).prefix(32)),
                    changedAt: intake.history.now,
                    // An edition with samples shows what it holds; its pages stay closed.
                    isSample: resources.contains(where: \.isSample)
                )
            )
        }
        let (blob, byteCount) = try writer.finish()
        return (blob, byteCount, resources)
    }

    private static func cover(_ files: [EditionFolder.File]) throws -> [UInt8]? {
        let pictures: Set<String> = ["jpg", "jpeg", "png", "gif", "webp"]
        let covers = files.filter {
            pictures.contains(SourceParts.suffix($0.path)) && SourceParts.stem($0.path).lowercased() == "cover"
        }
        guard let cover = covers.min(by: { $0.path.utf8.count < $1.path.utf8.count }) else { return nil }
        let file = try SourceFile(path: cover.location, name: cover.path, followsLinks: false)
        guard file.size <= Int64(AudioTags.Cover.limit) else { return nil }
        return try file.bytes(0..<file.size)
    }
}
