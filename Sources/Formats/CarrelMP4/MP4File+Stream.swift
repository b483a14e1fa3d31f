// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio
import CarrelBytes

extension MP4File {
    /// The stream made of a track's samples.
    package struct StreamSummary: Sendable, Hashable {
        /// The format shared by all frames.
        package let format: AudioFormat
        /// Frames passed on.
        package let frameCount: Int64
        /// Bytes of those frames.
        package let byteCount: Int64
        /// The part of the decoded audio that is not part of the work, in samples of the format.
        package let trim: MP4Track.Trim
        /// Samples by which the file's own timeline is longer (or shorter) than the frames; more than a frame means gaps between them,
        /// and chapters that do not fit the stream.
        package let drift: Int64
        /// The offset at which the file was cut off, if that was allowed.
        package let truncatedAt: Int64?

        /// Samples of each channel in all frames.
        package var sampleCount: Int64 { frameCount * Int64(format.samplesPerFrame) }
    }

    /// Turns an AAC track into ADTS frames.
    ///
    /// - Parameters:
    ///   - track: a track of this file, whose `framing` is `.adts`.
    ///   - allowsTruncation: whether to accept the existing part of a truncated file.
    ///   - frames: gets whole consecutive frames, and their number; at most 1 MiB at a time unless one frame is larger.
    /// - Returns: a summary of the frames.
    /// - Throws: the errors of the reader and `frames`; `Malformed` if the tables are damaged, a sample is empty or too large for
    ///   ADTS, the file is truncated, or the track has no samples or another framing.
    package func stream(
        _ track: MP4Track,
        allowsTruncation: Bool = false,
        _ frames: (RawSpan, Int) throws -> Void
    ) throws -> StreamSummary {
        guard case .adts(let format) = track.framing, let template = format.adts else {
            throw Malformed("track \(track.id) cannot be framed as ADTS", at: 0)
        }
        var samples = samples(of: track, allowsTruncation: allowsTruncation)
        var count: Int64 = 0
        var total: Int64 = 0
        var out: [UInt8] = []
        while let run = try samples.nextRun(limit: 1 << 20) {
            let bytes = try reader.readAll(run.range)
            out.removeAll(keepingCapacity: true)
            out.reserveCapacity(bytes.count + 7 * run.sizes.count)
            var at = 0
            for size in run.sizes {
                guard size > 0, template.append(payloadLength: size, to: &out) else {
                    throw Malformed("sample of \(size) bytes cannot be an ADTS frame", at: Int(run.range.lowerBound) + at)
                }
                out.append(copying: bytes.rawSpan.extracting(at..<at + size))
                at += size
            }
            try frames(out.rawSpan, run.sizes.count)
            count += Int64(run.sizes.count)
            total += Int64(out.count)
        }
        guard count > 0 else { throw Malformed("track \(track.id) has no samples", at: Int(samples.truncatedAt ?? 0)) }
        let length =
            track.timescale > 0 ? Timescale.convert(samples.duration, times: format.sampleRate, over: track.timescale) : 0
        return StreamSummary(
            format: format,
            frameCount: count,
            byteCount: total,
            trim: track.trim(
                mediaDuration: samples.duration,
                sampleCount: count * Int64(format.samplesPerFrame),
                sampleRate: format.sampleRate
            ),
            drift: length - count * Int64(format.samplesPerFrame),
            truncatedAt: samples.truncatedAt
        )
    }
}
