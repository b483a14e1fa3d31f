// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio
package import CarrelBytes
import CarrelTS

/// Builds the index of a title while its elementary stream passes, frame by frame, in memory of one segment's frame lengths.
package struct SegmentIndexBuilder: Sendable {
    /// Most frames in a segment: more than an hour.
    package static let maximumFrames = 200_000

    /// The format shared by all frames.
    package let format: AudioFormat
    /// Frames in every segment but the last: the whole number nearest to the target duration.
    package let framesPerSegment: Int
    /// Frames seen.
    package private(set) var frameCount: Int64 = 0
    /// Bytes seen.
    package private(set) var byteCount: Int64 = 0

    private var lengths: [Int32] = []  // frames of the segment under way
    private var marks: [UInt64] = [0]

    /// - Parameters:
    ///   - format: the format of all frames.
    ///   - seconds: the target duration; a segment has at least one frame and at most `maximumFrames`.
    package init(format: AudioFormat, targetDuration seconds: Double = 10) {
        self.format = format
        let frames = (seconds * Double(format.sampleRate) / Double(format.samplesPerFrame)).rounded()
        framesPerSegment = Int(min(max(1, frames.isNaN ? 1 : frames), Double(Self.maximumFrames)))
        lengths.reserveCapacity(framesPerSegment)
    }

    /// Adds whole frames, back to back.
    ///
    /// - Throws: when the bytes are not whole frames of the format; those before the offset of the error were added.
    package mutating func append(_ frames: RawSpan) throws(Malformed) {
        var offset = 0
        while offset < frames.byteCount {
            guard let length = format.frameLength(in: frames, at: offset) else {
                throw Malformed("frame header does not belong to the stream", at: offset)
            }
            guard length <= frames.byteCount - offset else { throw Malformed("frame is cut off", at: offset) }
            append(frameLength: length)
            offset += length
        }
    }

    /// Adds a frame by its length in bytes, header included.
    package mutating func append(frameLength length: Int) {
        precondition(length >= 4 && length <= ADTSHeader.maximumFrameLength, "no frame has \(length) bytes")
        lengths.append(Int32(truncatingIfNeeded: length))
        frameCount += 1
        byteCount += Int64(length)
        if lengths.count == framesPerSegment { closeSegment() }
    }

    /// The index of all frames added.
    ///
    /// - Parameters:
    ///   - encoderDelay: samples at the start that the encoder added.
    ///   - padding: samples at the end that the encoder added.
    /// - Returns: the index; without segments when there were no frames.
    package consuming func finish(encoderDelay: Int = 0, padding: Int = 0) -> SegmentIndex {
        if !lengths.isEmpty { closeSegment() }
        return SegmentIndex(
            format: format,
            framesPerSegment: framesPerSegment,
            frameCount: frameCount,
            encoderDelay: max(0, encoderDelay),
            padding: max(0, padding),
            marks: marks
        )
    }

    /// Groups the segment's frames into PES packets as the muxer will, to know its transport packets.
    private mutating func closeSegment() {
        precondition(byteCount < 1 << 40, "media of a terabyte")
        var grouping = PESGrouping(samplesPerFrame: format.samplesPerFrame, sampleRate: format.sampleRate)
        var packets: UInt64 = 0
        var first = 0
        while first < lengths.count {
            grouping.startNext()
            var next = first
            while next < lengths.count, grouping.offer(Int(lengths[next])) { next += 1 }
            packets += UInt64(grouping.packetCount)
            first += grouping.frameCount
        }
        let before = marks[marks.count - 1]
        marks.append(UInt64(byteCount) << 24 | (before &+ packets) & SegmentIndex.packetMask)
        lengths.removeAll(keepingCapacity: true)
    }
}
