// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelAudio
import CarrelBytes
import CarrelPackager
package import CarrelStore

/// Takes audio files into the store: reads their metadata, cleans the audio to frames back to back, indexes it,
/// and cuts a sample.
///
/// Everything here blocks: run it on a dedicated thread. What it made is in the blob store when it returns; the catalog entry is
/// the caller's, and so is the removal of finished blobs when it throws; of the one being written nothing stays.
package struct Ingest {
    let blobs: any BlobStore
    /// A folder for what archives unpack to.
    let scratch: Scratch
    let options: IngestOptions
    let progress: (IngestProgress) throws -> Void

    /// - Parameters:
    ///   - blobs: where media, cover and sample go.
    ///   - scratch: for temporary files.
    ///   - options: what the operator decided.
    ///   - progress: called every megabyte or so; throwing stops the ingest.
    package init(
        blobs: any BlobStore,
        scratch: Scratch,
        options: IngestOptions,
        progress: @escaping (IngestProgress) throws -> Void
    ) {
        self.blobs = blobs
        self.scratch = scratch
        self.options = options
        self.progress = progress
    }

    /// SHA-256 over a file, or over the names and contents of a folder's files in order.
    package func sourceHash(_ path: String) throws -> [UInt8] {
        guard SourceFile.isFolder(path) else {
            return try SourceHash.of(try SourceFile(path: path, name: path), progress: progress)
        }
        let parts = try SourceParts(folder: path, name: path)
        var hash = SourceHash(total: parts.files.reduce(0) { $0 + $1.size }, progress: progress)
        for file in parts.files.sorted(by: { SourceHash.counts($0.name, before: $1.name) }) { try hash.add(file) }
        return hash.finish()
    }

    /// Takes the file, folder or ZIP archive at `path`.
    package func run(_ path: String, sourceHash: [UInt8]) throws -> IngestedTitle {
        if SourceFile.isFolder(path) { return try take(SourceParts(folder: path, name: path), path, sourceHash) }
        let file = try SourceFile(path: path, name: path)
        guard file.size > 0 else { throw IngestError(.empty, path, "is empty") }
        guard try file.bytes(0..<4) == [0x50, 0x4b, 0x03, 0x04] else {
            return try take(SourceParts(file: file), path, sourceHash)
        }
        let folder = try scratch.makeFolder()
        defer { scratch.remove(folder) }
        let leftOut = try ArchiveUnpacking(path: path, limit: options.archiveLimit).unpack(into: folder, progress)
        let warnings = try OmittedParts(leftOut, of: path).warnings { $0.first { SourceParts.isSound($0.parts) } }
        return try take(SourceParts(folder: folder, name: path), path, sourceHash, warnings)
    }

    private func take(
        _ parts: SourceParts,
        _ path: String,
        _ sourceHash: [UInt8],
        _ omissions: [String] = []
    ) throws -> IngestedTitle {
        let recording = try Recording.make(of: parts, ingest: self)
        var warnings = omissions + recording.warnings
        var metadata = try recording.metadata {
            try options.overrides.title ?? options.untitled.title(of: path)
        }
        metadata.apply(options.overrides)
        let cover = try cover(of: recording, parts, &warnings)
        let sample = try SampleExtractor(blobs: blobs, scratch: scratch, progress: progress).make(
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
        if let path = options.overrides.coverPath { return try Self.keepCover(path, in: blobs) }
        var cover = recording.tags.lazy.compactMap(\.cover).first
        if let path = parts.coverPath, let beside = try? Self.picture(path) {
            cover = beside
        }
        return try cover.flatMap { try Self.keep($0, in: blobs) }
    }

    /// Keeps the picture in a file as a cover.
    ///
    /// - Throws: ``IngestError`` `ingest.malformed` unless browsers show it.
    package static func keepCover(_ path: String, in blobs: any BlobStore) throws -> (blob: BlobID, mediaType: String) {
        guard let picture = try picture(path), let kept = try keep(picture, in: blobs) else {
            throw IngestError(.malformed, path, "is not a JPEG, PNG, GIF or WebP picture of at most 16 MiB")
        }
        return kept
    }

    /// Nil for a picture that browsers do not show.
    static func keep(_ cover: AudioTags.Cover, in blobs: any BlobStore) throws -> (blob: BlobID, mediaType: String)? {
        guard cover.mediaType != "image/bmp" else { return nil }
        let writer = try blobs.writer()
        try writer.append(cover.bytes.rawSpan)
        return (try writer.finish(), cover.mediaType)
    }

    static func picture(_ path: String) throws -> AudioTags.Cover? {
        let file = try SourceFile(path: path, name: path)
        guard file.size <= Int64(AudioTags.Cover.limit) else { return nil }
        return AudioTags.Cover(try file.bytes(0..<file.size))
    }
}
