// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTS

/// Turns a segment's frames into a transport stream, PES packet after PES packet.
struct Multiplexer: ~Copyable {
    /// The output size: any PES packet, and the few bytes before it that are less than a cipher block.
    static let outputSize = 32 << 10
    /// Bytes that must be there to plan a PES packet: all it may hold, and the header after it.
    private static let lookahead = PESGrouping.maximumData + 64

    private let walk: FrameWalk
    private let samplesPerFrame: Int
    private var media: SegmentWindow
    private var writer: TransportStreamWriter
    private var grouping: PESGrouping
    private var planned = false
    private var framesLeft: Int
    private var packetsLeft: Int
    private var sample: Int64

    /// Writes the tables to `output`.
    ///
    /// - Parameters:
    ///   - segment: the segment.
    ///   - format: the format of its frames.
    ///   - walk: walks the frames of this format.
    ///   - media: an empty window for the frames, with room for more than the lookahead.
    ///   - output: receives the segment.
    init(
        _ segment: Segment,
        format: AudioFormat,
        walk: FrameWalk,
        media: consuming SegmentWindow,
        into output: inout SegmentWindow
    ) {
        self.walk = walk
        samplesPerFrame = format.samplesPerFrame
        self.media = media
        writer = TransportStreamWriter(
            streamType: format.codec.streamType,
            sampleRate: format.sampleRate,
            samplesPerFrame: format.samplesPerFrame,
            segment: segment.number,
            audioPackets: segment.packetsBefore
        )
        grouping = PESGrouping(samplesPerFrame: format.samplesPerFrame, sampleRate: format.sampleRate)
        framesLeft = segment.frameCount
        packetsLeft = segment.packetCount
        sample = segment.startSample
        let writer = writer
        output.append(atMost: TransportStream.tablesLength) { out in writer.writeTables(into: &out) }
    }

    /// Appends PES packets while they fit.
    ///
    /// - Returns: false if all was made before.
    mutating func makeMore(
        _ input: any SegmentInput,
        _ position: inout Int64,
        _ end: Int64,
        into output: inout SegmentWindow
    ) throws -> Bool {
        var more = false
        while framesLeft > 0 {
            if !planned {
                if media.count < Self.lookahead, position < end {
                    media.compact()
                    let lacking = min(Int64(Self.lookahead - media.count), end - position)
                    try media.fill(from: input, &position, end, atLeast: Int(lacking))
                }
                try plan()
            }
            guard output.free >= grouping.packetCount * TransportStream.packetLength else { return true }
            write(to: &output)
            more = true
        }
        guard packetsLeft == 0, media.count == 0, position == end else { throw Self.damaged }
        return more
    }

    private mutating func plan() throws(PackagerError) {
        var grouping = grouping
        let walk = walk
        var remaining = framesLeft
        grouping.startNext()
        try media.withBytes { (bytes) throws(PackagerError) in
            var offset = 0
            while remaining > 0 {
                guard let length = walk.frameLength(in: bytes, at: offset) else { throw Self.damaged }
                guard grouping.offer(length) else { break }
                offset += length
                remaining -= 1
            }
            guard grouping.byteCount <= bytes.byteCount else { throw Self.damaged }
        }
        guard grouping.packetCount <= packetsLeft else { throw Self.damaged }
        self.grouping = grouping
        planned = true
    }

    private mutating func write(to output: inout SegmentWindow) {
        let group = grouping
        let sample = sample
        var writer = writer
        media.withBytes { bytes in
            output.append(atMost: group.packetCount * TransportStream.packetLength) { out in
                writer.writePES(
                    bytes.extracting(0..<group.byteCount),
                    frameCount: group.frameCount,
                    firstSample: sample,
                    into: &out
                )
            }
        }
        self.writer = writer
        media.drop(group.byteCount)
        framesLeft -= group.frameCount
        packetsLeft -= group.packetCount
        self.sample += Int64(group.frameCount * samplesPerFrame)
        planned = false
    }

    private static var damaged: PackagerError {
        PackagerError(.mediaDamaged, "the stored media is not what its index says")
    }
}
