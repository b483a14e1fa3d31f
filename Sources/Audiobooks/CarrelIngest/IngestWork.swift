// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
package import CarrelStore

/// The store, the scratch folder and the progress of one ingest.
package struct IngestWork {
    let blobs: any BlobStore
    let scratch: Scratch
    let progress: (IngestProgress) throws -> Void

    /// - Parameters:
    ///   - blobs: the store of media, covers and samples.
    ///   - scratch: the folder of temporary files.
    ///   - progress: called about once per megabyte; an error that it throws stops the ingest.
    package init(blobs: any BlobStore, scratch: Scratch, progress: @escaping (IngestProgress) throws -> Void) {
        self.blobs = blobs
        self.scratch = scratch
        self.progress = progress
    }

    /// Stores the picture in a file as a cover.
    ///
    /// - Parameters:
    ///   - path: a JPEG, PNG, GIF or WebP file of at most 16 MiB.
    ///   - blobs: the store.
    /// - Returns: the blob and its media type.
    /// - Throws: ``IngestError`` `ingest.malformed` unless browsers show the picture.
    package static func keepCover(_ path: String, in blobs: any BlobStore) throws -> (blob: BlobID, mediaType: String) {
        guard let picture = try picture(path), let cover = try keep(picture, in: blobs) else {
            throw IngestError(.malformed, path, "is not a JPEG, PNG, GIF or WebP picture of at most 16 MiB")
        }
        return cover
    }

    /// Stores a cover; returns nil if browsers do not show it.
    func keep(_ cover: AudioTags.Cover) throws -> (blob: BlobID, mediaType: String)? { try Self.keep(cover, in: blobs) }

    private static func keep(_ cover: AudioTags.Cover, in blobs: any BlobStore) throws -> (blob: BlobID, mediaType: String)? {
        guard cover.mediaType != "image/bmp" else { return nil }
        let writer = try blobs.writer()
        try writer.append(cover.bytes.rawSpan)
        return (try writer.finish(), cover.mediaType)
    }

    /// Reads the picture in a file; returns nil if it is too long, or no picture.
    static func picture(_ path: String) throws -> AudioTags.Cover? {
        let file = try SourceFile(path: path, name: path)
        guard file.size <= Int64(AudioTags.Cover.limit) else { return nil }
        return AudioTags.Cover(try file.bytes(0..<file.size))
    }
}
