// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
package import CarrelWorks

/// The result of an ingest of an edition: blobs in the store, and the facts for the catalog.
package struct IngestedEdition: Sendable {
    package let kind: EditionKind
    package let metadata: TitleMetadata
    /// SHA-256 over the source.
    package let sourceHash: [UInt8]
    /// The EPUB or PDF file itself; of pages, a ZIP archive that stores them as they are.
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
    ///   - kind: what it is a file, or files, of.
    ///   - metadata: what it is called and who made it.
    ///   - sourceHash: SHA-256 over the source.
    ///   - media: the file, or the ZIP archive of its pages.
    ///   - byteCount: bytes of the media blob.
    ///   - entry: the path of the resource that it opens with.
    ///   - resources: what it is made of.
    ///   - cover: a picture and its media type.
    ///   - warnings: what an operator should know, in sentences.
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

    /// The same of a source that is one file, taken as it is: its one resource is the whole blob.
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
