// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
package import CarrelWorks

/// The result of an ingest of an edition: blobs in the store, and the facts for the catalog.
package struct IngestedEdition: Sendable {
    package let kind: EditionKind
    package let metadata: TitleMetadata
    /// SHA-256 over the source.
    package let sourceHash: [UInt8]
    /// The EPUB or PDF file itself; for pages, a ZIP archive without compression.
    package let media: BlobID
    /// Bytes of the media blob.
    package let byteCount: Int64
    /// The path of the resource that an edition opens with.
    package let entry: String
    /// In the order of reading as far as names tell.
    package let resources: [EditionResource]
    package let cover: (blob: BlobID, mediaType: String)?
    /// Notes for the operator, in sentences.
    package let warnings: [String]

    /// - Parameters:
    ///   - kind: the kind of edition.
    ///   - metadata: its titles and contributors.
    ///   - sourceHash: SHA-256 over the source.
    ///   - media: the file, or the ZIP archive of its pages.
    ///   - byteCount: bytes of the media blob.
    ///   - entry: the path of its first resource.
    ///   - resources: its resources.
    ///   - cover: a picture and its media type.
    ///   - warnings: warnings for the operator, in sentences.
    package init(
        kind: EditionKind,
        metadata: TitleMetadata,
        sourceHash: [UInt8],
        media: BlobID,
        byteCount: Int64,
        entry: String,
        resources: [EditionResource],
        cover: (blob: BlobID, mediaType: String)?,
        warnings: [String] = []
    ) {
        self.kind = kind
        self.metadata = metadata
        self.sourceHash = sourceHash
        self.media = media
        self.byteCount = byteCount
        self.entry = entry
        self.resources = resources
        self.cover = cover
        self.warnings = warnings
    }

    /// Creates the edition of a source that is a single file, stored unchanged: its one resource is the whole blob.
    init(
        kind: EditionKind,
        metadata: TitleMetadata,
        sourceHash: [UInt8],
        whole: (blob: BlobID, resource: EditionResource),
        cover: (blob: BlobID, mediaType: String)?,
        warnings: [String]
    ) {
        self.init(
            kind: kind,
            metadata: metadata,
            sourceHash: sourceHash,
            media: whole.blob,
            byteCount: whole.resource.byteCount,
            entry: whole.resource.path,
            resources: [whole.resource],
            cover: cover,
            warnings: warnings
        )
    }
}
