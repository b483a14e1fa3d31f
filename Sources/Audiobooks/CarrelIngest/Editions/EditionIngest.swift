// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelStore
package import CarrelWorks

/// Ingests an edition: an EPUB or PDF file, or pages of HTML in a folder or a ZIP archive.
///
/// A source is checked as a whole first: names that leave their folder, links, passwords and contents that grow without end are
/// refused, with their kind and place. Pages go into one blob, a ZIP archive without compression, so that each page is one range
/// of the file, and apps download the whole file. All calls block, and memory does not grow with the source.
package struct EditionIngest {
    private let intake: EditionIntake

    /// - Parameters:
    ///   - work: the stores, the scratch folder and the progress.
    ///   - options: the operator's options.
    ///   - history: when the product's pages changed, and the time now.
    package init(_ work: IngestWork, _ options: EditionOptions, history: PageHistory) {
        intake = EditionIntake(work: work, options: options, history: history)
    }

    /// The kind of a path's content; nil unless it is an edition.
    package static func kind(of path: String) throws -> EditionKind? {
        if SourceFile.isFolder(path) {
            return try EditionFolder(path, source: path).files.contains { ResourceType.isPage($0.path) } ? .edition : nil
        }
        let file = try SourceFile(path: path, name: path)
        let head = try file.bytes(0..<Int64(PDFHeader.window))
        if head.starts(with: [0x50, 0x4b, 0x03, 0x04]) {
            // An EPUB's first entry is stored, has no extra field and identifies the format (EPUB 3.3 §4.3.2).
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

    /// Ingests the source at `path`.
    ///
    /// - Returns: the edition for the catalog.
    /// - Throws: ``IngestError`` with the error and its place.
    package func run(_ path: String, sourceHash: [UInt8]) throws -> IngestedEdition {
        switch try Self.kind(of: path) {
        case .ebook: return try EPUBFile(intake, path).take(sourceHash)
        case .pdf: return try PDFFile(intake, path).take(sourceHash)
        case .edition:
            if SourceFile.isFolder(path) {
                return try PageEdition(intake, try EditionFolder(path, source: path), source: path).take(sourceHash)
            }
            let archive = try EditionArchive(path: path, limit: intake.options.archiveLimit)
            let folder = try intake.work.scratch.makeFolder()
            defer { intake.work.scratch.remove(folder) }
            try ArchiveUnpacking(path: path, limit: intake.options.archiveLimit).unpack(
                archive.archive,
                into: folder,
                intake.work.progress
            )
            let pages = try EditionFolder(folder, source: path)
            let warnings = try OmittedParts(archive.archive.leftOut, of: path).warnings(pages.firstPart)
            return try PageEdition(intake, pages, source: path).take(sourceHash, warnings)
        case nil:
            throw IngestError(
                .notEdition,
                path,
                "is not an edition",
                hint: "an edition is an EPUB or PDF file, or a folder or ZIP archive with pages of HTML"
            )
        }
    }
}
