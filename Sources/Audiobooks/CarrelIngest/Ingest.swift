// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelAudio
import CarrelBytes
import CarrelPackager
import CarrelStore
import CarrelWorks

/// Ingests audio files: reads their metadata, cleans the audio to frames back to back, indexes it, and cuts a sample.
///
/// All calls block: run them on a dedicated thread. The results are in the blob store on return; the caller writes the catalog
/// entry, and removes finished blobs after an error; an unfinished blob is removed.
package struct Ingest {
    let work: IngestWork
    let options: IngestOptions

    /// - Parameters:
    ///   - work: the stores, the scratch folder and the progress.
    ///   - options: the operator's options.
    package init(_ work: IngestWork, _ options: IngestOptions) {
        self.work = work
        self.options = options
    }

    /// SHA-256 over a file, or over the names and contents of a folder's files in order.
    package static func sourceHash(
        _ path: String,
        progress: @escaping (IngestProgress) throws -> Void
    ) throws -> [UInt8] {
        guard SourceFile.isFolder(path) else {
            return try SourceHash.of(try SourceFile(path: path, name: path), progress: progress)
        }
        let parts = try SourceParts(folder: path, name: path)
        var hash = SourceHash(total: parts.files.reduce(0) { $0 + $1.size }, progress: progress)
        for file in parts.files.sorted(by: { SourceHash.counts($0.name, before: $1.name) }) { try hash.add(file) }
        return hash.finish()
    }

    /// Ingests the file, folder or ZIP archive at `path`.
    package func run(_ path: String, sourceHash: [UInt8]) throws -> IngestedTitle {
        if SourceFile.isFolder(path) { return try take(SourceParts(folder: path, name: path), path, sourceHash) }
        let file = try SourceFile(path: path, name: path)
        guard file.size > 0 else { throw IngestError(.empty, path, "is empty") }
        guard try file.bytes(0..<4) == [0x50, 0x4b, 0x03, 0x04] else {
            return try take(SourceParts(file: file), path, sourceHash)
        }
        let folder = try work.scratch.makeFolder()
        defer { work.scratch.remove(folder) }
        let leftOut = try ArchiveUnpacking(path: path, limit: options.archiveLimit).unpack(into: folder, work.progress)
        let warnings = try OmittedParts(leftOut, of: path).warnings { $0.first { SourceParts.isSound($0.parts) } }
        return try take(SourceParts(folder: folder, name: path), path, sourceHash, warnings)
    }

    private func take(
        _ parts: SourceParts,
        _ path: String,
        _ sourceHash: [UInt8],
        _ omissions: [String] = []
    ) throws -> IngestedTitle {
        let recording = try Recording.make(of: parts, work, options)
        var warnings = omissions + recording.warnings
        var metadata = try recording.metadata {
            try options.overrides.title ?? options.untitled.title(of: path)
        }
        metadata.apply(options.overrides)
        let cover = try cover(of: recording, parts, &warnings)
        let sample = try SampleExtractor(work: work).make(
            of: recording.index,
            media: recording.media,
            chapters: metadata.chapters,
            seconds: options.sampleSeconds,
            warnings: &warnings
        )
        return IngestedTitle(
            metadata: metadata,
            sourceHash: sourceHash,
            media: recording.media,
            index: recording.index,
            cover: cover,
            sample: sample,
            warnings: warnings
        )
    }

    private func cover(
        of recording: Recording,
        _ parts: SourceParts,
        _ warnings: inout [String]
    ) throws -> (blob: BlobID, mediaType: String)? {
        if let path = options.overrides.coverPath { return try IngestWork.keepCover(path, in: work.blobs) }
        var cover = recording.tags.lazy.compactMap(\.cover).first
        if let path = parts.coverPath, let beside = try? IngestWork.picture(path) {
            cover = beside
        }
        return try cover.flatMap { try work.keep($0) }
    }
}
