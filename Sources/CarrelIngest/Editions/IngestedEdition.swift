package import CarrelStore

/// What an ingest of an edition made: blobs in the store, and what the catalog needs to know.
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
    /// What an operator should know, in sentences.
    package let warnings: [String]
}
