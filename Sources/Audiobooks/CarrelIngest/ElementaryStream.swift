// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelPackager
import CarrelStore

/// Collects frames into the media blob and its segment index.
final class ElementaryStream {
    let format: AudioFormat
    private var writer: (any BlobWriter)?
    private var builder: SegmentIndexBuilder
    private(set) var frameCount: Int64 = 0

    init(format: AudioFormat, segmentSeconds: Double, blobs: any BlobStore) throws {
        self.format = format
        writer = try blobs.writer()
        builder = SegmentIndexBuilder(format: format, targetDuration: segmentSeconds)
    }

    /// Samples of each channel so far.
    var sampleCount: Int64 { frameCount * Int64(format.samplesPerFrame) }

    /// Appends whole frames back to back.
    func append(_ frames: RawSpan, count: Int) throws {
        try builder.append(frames)
        try writer?.append(frames)
        frameCount += Int64(count)
    }

    /// Makes the blob durable and returns it with its index.
    func finish(encoderDelay: Int, padding: Int) throws -> (media: BlobID, index: SegmentIndex)? {
        guard let writer, frameCount > 0 else { return nil }
        let blob = try writer.finish()
        self.writer = nil
        return (blob, builder.finish(encoderDelay: encoderDelay, padding: padding))
    }
}
