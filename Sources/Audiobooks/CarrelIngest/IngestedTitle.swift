// SPDX-License-Identifier: Apache-2.0

package import CarrelPackager
package import CarrelStore
package import CarrelWorks

/// The result of an ingest: blobs in the store, and the facts for the catalog.
package struct IngestedTitle: Sendable {
    package let metadata: TitleMetadata
    /// SHA-256 over the source.
    package let sourceHash: [UInt8]
    /// The elementary stream: MP3 frames or ADTS frames back to back.
    package let media: BlobID
    package let index: SegmentIndex
    package let cover: (blob: BlobID, mediaType: String)?
    /// An MP3 file and how long it plays.
    package let sample: (blob: BlobID, durationMS: Int64)?
    /// Notes for the operator, in sentences.
    package let warnings: [String]

    /// - Parameters:
    ///   - metadata: the title's names and contributors.
    ///   - sourceHash: SHA-256 over the source.
    ///   - media: the frames, back to back.
    ///   - index: the index of segments.
    ///   - cover: a picture and its media type.
    ///   - sample: an MP3 file and its duration.
    ///   - warnings: warnings for the operator, in sentences.
    package init(
        metadata: TitleMetadata,
        sourceHash: [UInt8],
        media: BlobID,
        index: SegmentIndex,
        cover: (blob: BlobID, mediaType: String)?,
        sample: (blob: BlobID, durationMS: Int64)?,
        warnings: [String] = []
    ) {
        self.metadata = metadata
        self.sourceHash = sourceHash
        self.media = media
        self.index = index
        self.cover = cover
        self.sample = sample
        self.warnings = warnings
    }

    /// Playing time in milliseconds, without encoder delay and padding.
    package var durationMS: Int64 { Int64((index.duration * 1000).rounded()) }
}
