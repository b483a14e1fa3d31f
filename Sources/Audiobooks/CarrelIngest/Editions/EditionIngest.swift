// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelAudio
import CarrelBytes
import CarrelCrypto
package import CarrelStore

/// Ingests an edition: an EPUB or PDF file, or pages of HTML in a folder or a ZIP archive.
///
/// A source is checked as a whole first: names that leave their folder, links, passwords and contents that grow without end are
/// refused, with their kind and place. Pages go into one blob, a ZIP archive without compression, so that each page is one range
/// of the file, and apps download the whole file. All calls block, and memory does not grow with the source.
package struct EditionIngest {
    let blobs: any BlobStore
    let scratch: Scratch
    let options: EditionOptions
    let history: PageHistory
    let progress: (IngestProgress) throws -> Void

    /// - Parameters:
    ///   - blobs: where the edition and its cover go.
    ///   - scratch: for temporary files.
    ///   - options: what the operator decided.
    ///   - history: when the product's pages changed, and the time now.
    ///   - progress: called every megabyte or so; throwing stops the ingest.
    package init(
        blobs: any BlobStore,
        scratch: Scratch,
        options: EditionOptions,
        history: PageHistory,
        progress: @escaping (IngestProgress) throws -> Void
    ) {
        self.blobs = blobs
        self.scratch = scratch
        self.options = options
        self.history = history
        self.progress = progress
    }

    /// The kind of a path's content; nil unless it is an edition.
    package static func kind(of path: String) throws -> EditionKind? {
        if SourceFile.isFolder(path) {
            return try EditionFolder(path, source: path).files.contains { ResourceType.isPage($0.path) } ? .edition : nil
        }
        let file = try SourceFile(path: path, name: path)
        let head = try file.bytes(0..<Int64(PDFHeader.window))
        if head.starts(with: [0x50, 0x4b, 0x03, 0x04]) {
            // An EPUB's first entry is stored, has no extra field and says what it is (EPUB 3.3 §4.3.2).
            if head.rawSpan.matches("mimetypeapplication/epub+zip", at: 30) { return .ebook }
            return try EditionArchive(path: path, limit: PackageWriter.byteLimit).hasPages ? .edition : nil
        }
        return PDFHeader.isIn(head) ? .pdf : nil
    }

    /// SHA-256 over a file, or over the names and contents of a folder's files in order.
    package static func sourceHash(
        _ path: String,
        progress: @escaping (IngestProgress) throws -> Void
    ) throws -> [UInt8] {
        guard SourceFile.isFolder(path) else {
            return try SourceHash.of(try SourceFile(path: path, name: path), progress: progress)
        }
        let folder = try EditionFolder(path, source: path)
        var hash = SourceHash(total: 0, progress: progress)
        // One open at a time: there may be more than a process may have open.
        for file in folder.files.sorted(by: { SourceHash.counts($0.path, before: $1.path) }) {
            try hash.add(try SourceFile(path: file.location, name: file.path, followsLinks: false))
        }
        return hash.finish()
    }

    /// Takes what is at `path`.
    ///
    /// - Returns: what the catalog needs to know of it.
    /// - Throws: ``IngestError`` with what is wrong and where.
    package func run(_ path: String, sourceHash: [UInt8]) throws -> IngestedEdition {
        switch try Self.kind(of: path) {
        case .ebook: return try EPUBFile(self, path).take(sourceHash)
        case .pdf: return try PDFFile(self, path).take(sourceHash)
        case .edition:
            if SourceFile.isFolder(path) {
                return try PageEdition(self, try EditionFolder(path, source: path), source: path).take(sourceHash)
            }
            let archive = try EditionArchive(path: path, limit: options.archiveLimit)
            let folder = try scratch.makeFolder()
            defer { scratch.remove(folder) }
            try ArchiveUnpacking(path: path, limit: options.archiveLimit).unpack(archive.archive, into: folder, progress)
            let pages = try EditionFolder(folder, source: path)
            let warnings = try OmittedParts(archive.archive.leftOut, of: path).warnings(pages.firstPart)
            return try PageEdition(self, pages, source: path).take(sourceHash, warnings)
        case nil:
            throw IngestError(
                .notEdition,
                path,
                "is not an edition",
                hint: "an edition is an EPUB or PDF file, or a folder or ZIP archive with pages of HTML"
            )
        }
    }

    /// Stores a file unchanged, with its one resource.
    func takeWhole(_ file: SourceFile, suffix: String) throws -> (blob: BlobID, resource: EditionResource) {
        let writer = try blobs.writer()
        var hash = SHA256.Stream()
        try file.forEachWindow { window in
            try writer.append(window)
            hash.update(window)
            try progress(IngestProgress(phase: .indexing, done: writer.byteCount, total: file.size))
        }
        let name = "\(options.productID).\(suffix)"
        let resource = EditionResource(
            path: name,
            mediaType: ResourceType.of(name),
            offset: 0,
            byteCount: writer.byteCount,
            digest: String(Hex.encode(hash.finish()).prefix(32)),
            changedAt: history.now,
            isSample: false
        )
        return (try writer.finish(), resource)
    }

    /// Refuses patterns of samples where nothing can be a sample.
    func refuseSamples(_ path: String) throws(IngestError) {
        guard let pattern = options.samples.first else { return }
        throw IngestError(.notEdition, path, "is one file, of which \"\(pattern)\" cannot be open to everybody")
    }

    /// The picture that the operator named, or the one that the source has.
    func cover(_ own: () throws -> [UInt8]?) throws -> (blob: BlobID, mediaType: String)? {
        if let path = options.overrides.coverPath { return try Ingest.keepCover(path, in: blobs) }
        return try own().flatMap { AudioTags.Cover($0) }.flatMap { try Ingest.keep($0, in: blobs) }
    }
}
