// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio
import CarrelCrypto
import CarrelHLS
import CarrelTS

/// The offset and the length of each segment of a title: everything that playlists and segments need but the media itself.
///
/// Every segment has the same number of frames, except the last. Takes 8 bytes a segment.
package struct SegmentIndex: Sendable, Hashable {
    /// The format shared by all frames.
    package let format: AudioFormat
    /// Frames in every segment but the last.
    package let framesPerSegment: Int
    /// Frames in all.
    package let frameCount: Int64
    /// Samples at the start that the encoder added.
    package let encoderDelay: Int
    /// Samples at the end that the encoder added.
    package let padding: Int
    /// For each segment, and once more for the end: bytes before it in the high 40 bits, transport packets before it in the low
    /// 24.
    let marks: [UInt64]

    let walk: FrameWalk

    static let packetMask: UInt64 = 1 << 24 - 1

    init(format: AudioFormat, framesPerSegment: Int, frameCount: Int64, encoderDelay: Int, padding: Int, marks: [UInt64]) {
        self.format = format
        self.framesPerSegment = framesPerSegment
        self.frameCount = frameCount
        self.encoderDelay = encoderDelay
        self.padding = padding
        self.marks = marks
        walk = FrameWalk(format)
    }

    /// Segments.
    package var segmentCount: Int { marks.count - 1 }

    /// Bytes of all frames.
    package var byteCount: Int64 { Int64(marks[marks.count - 1] >> 24) }

    /// Samples of each channel in all frames, with what the encoder added.
    package var totalSamples: Int64 { frameCount * Int64(format.samplesPerFrame) }

    /// Samples in every segment but the last.
    package var samplesPerSegment: Int { framesPerSegment * format.samplesPerFrame }

    /// Seconds of audio, without the encoder's padding at the start and the end.
    package var duration: Double {
        Double(max(0, totalSamples - Int64(encoderDelay) - Int64(padding))) / Double(format.sampleRate)
    }

    /// The segment of that media sequence number. Traps when there is none.
    package func segment(_ number: Int) -> Segment {
        precondition(number >= 0 && number < segmentCount, "no such segment")
        let start = marks[number]
        let end = marks[number + 1]
        let firstFrame = Int64(number) * Int64(framesPerSegment)
        let frames = Int(min(Int64(framesPerSegment), frameCount - firstFrame))
        return Segment(
            number: number,
            byteRange: Int64(start >> 24)..<Int64(end >> 24),
            firstFrame: firstFrame,
            frameCount: frames,
            startSample: firstFrame * Int64(format.samplesPerFrame),
            sampleCount: frames * format.samplesPerFrame,
            packetsBefore: Int(start & Self.packetMask),
            packetCount: Int((end &- start) & Self.packetMask)
        )
    }

    /// The number of the segment that a sample of the title is in; past the end, the last one. Nil if there are no segments.
    package func segmentNumber(atSample sample: Int64) -> Int? {
        guard segmentCount > 0 else { return nil }
        return Int(min(max(0, sample) / Int64(samplesPerSegment), Int64(segmentCount - 1)))
    }

    /// The exact size of a segment as sent.
    ///
    /// - Parameters:
    ///   - number: the media sequence number; traps if there is no such segment.
    ///   - form: how it carries its frames.
    ///   - encrypted: whether AES-128-CBC pads it to whole blocks (RFC 8216 §4.3.2.4).
    /// - Returns: the size in bytes.
    package func length(ofSegment number: Int, form: SegmentForm, encrypted: Bool) -> Int {
        let segment = segment(number)
        let plain =
            switch form {
            case .transportStream: TransportStream.tablesLength + segment.packetCount * TransportStream.packetLength
            case .packed: PackedAudio.timestampTagLength + segment.byteRange.count
            }
        return encrypted ? AESCBCEncryptor.cipherLength(ofPlainLength: plain) : plain
    }
}
