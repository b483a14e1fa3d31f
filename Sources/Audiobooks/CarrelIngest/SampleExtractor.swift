// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelPackager
import CarrelStore
import CarrelWorks

/// Cuts the free sample of a title: an MP3 file of at most a minute.
struct SampleExtractor {
    let work: IngestWork

    /// Bits per second of a sample that has to be encoded, in thousands.
    private static let bitrate = 64

    /// Makes the sample; nil if none is wanted, or when it cannot be made, with a warning.
    ///
    /// Books open with titles and credits: the sample begins with the first chapter that starts between half a minute and a
    /// quarter of an hour, or else at the beginning.
    func make(
        of index: SegmentIndex,
        media: BlobID,
        chapters: [TitleMetadata.Chapter],
        seconds: Double,
        warnings: inout [String]
    ) throws -> (blob: BlobID, durationMS: Int64)? {
        guard seconds > 0, index.segmentCount > 0 else { return nil }
        let total = index.duration
        let latest = min(900, total - seconds / 2)
        let starts = chapters.map { Double($0.startMS) / 1000 }
        let start = starts.first { $0 >= 30 && $0 <= latest } ?? 0
        let frames = try frames(from: start, seconds: min(seconds, 600), index, media)
        guard frames.count > 0 else { return nil }
        try work.progress(IngestProgress(phase: .sampling, done: 0, total: 0))
        let milliseconds = Int64(frames.count) * Int64(index.format.samplesPerFrame) * 1000 / Int64(index.format.sampleRate)
        let writer = try work.blobs.writer()
        if case .mp3 = index.format.codec {
            try writer.append(frames.bytes.rawSpan)
        } else {
            do {
                try encode(frames.bytes) { try writer.append($0) }
            } catch let error as IngestError where error.code != .full && error.code != .scratch {
                warnings.append("no sample was made: \(error.reason)")
                return nil
            }
        }
        return (try writer.finish(), milliseconds)
    }

    /// The whole frames of a stretch of the title.
    private func frames(
        from second: Double,
        seconds: Double,
        _ index: SegmentIndex,
        _ media: BlobID
    ) throws -> (bytes: [UInt8], count: Int) {
        let rate = Double(index.format.sampleRate)
        let perFrame = index.format.samplesPerFrame
        let first = (Int64(second * rate) + Int64(index.encoderDelay)) / Int64(perFrame)
        let count = Int(min(Int64(seconds * rate) / Int64(perFrame), index.frameCount - first))
        guard count > 0, let from = index.segmentNumber(atSample: first * Int64(perFrame)),
            let to = index.segmentNumber(atSample: (first + Int64(count) - 1) * Int64(perFrame))
        else { return ([], 0) }
        let segment = index.segment(from)
        let blob = try work.blobs.open(media)
        let start = segment.byteRange.lowerBound
        let bytes = try blob.bytes(at: start, count: Int(index.segment(to).byteRange.upperBound - start))
        var (at, begin) = (0, 0)
        for frame in segment.firstFrame..<first + Int64(count) {
            if frame == first { begin = at }
            guard let length = index.format.frameLength(in: bytes.rawSpan, at: at) else { return ([], 0) }
            at += length
        }
        return (Array(bytes[begin..<at]), count)
    }

    /// Makes an MP3 file of ADTS frames.
    private func encode(_ frames: [UInt8], _ body: (RawSpan) throws -> Void) throws {
        let folder = try work.scratch.makeFolder()
        defer { work.scratch.remove(folder) }
        let path = "\(folder)/sample.aac"
        try ScratchFile(at: path, name: "the sample").append(frames.rawSpan)
        try Transcoder(source: try SourceFile(path: path, name: "the sample")).mp3(bitrate: Self.bitrate, body)
    }
}
