// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS
import CarrelTS

/// The bytes of a segment before encryption, generated window by window, or in one piece if there is room.
struct PlainSegment: ~Copyable {
    private let memory = WindowMemory()
    private let input: any SegmentInput
    private let end: Int64  // of the segment's frames in the media
    private var position: Int64  // of the next byte to read
    private var multiplexer: Multiplexer?
    /// The bytes that are made and not yet taken.
    var window: SegmentWindow

    /// Generates into `room`, which must fit the whole segment and outlive this value, or else into its own window.
    init(
        _ segment: Segment,
        format: AudioFormat,
        walk: FrameWalk,
        form: SegmentForm,
        input: any SegmentInput,
        into room: UnsafeMutableRawBufferPointer? = nil
    ) {
        self.input = input
        position = segment.byteRange.lowerBound
        end = segment.byteRange.upperBound
        switch form {
        case .packed:
            window =
                if let room = unsafe room { unsafe SegmentWindow(over: room) } else {
                    SegmentWindow(memory, 0..<WindowMemory.size)
                }
            let timestamp = MediaTime.timestamp(ofSample: segment.startSample, sampleRate: format.sampleRate)
            window.append(atMost: PackedAudio.timestampTagLength) { out in
                for byte in PackedAudio.timestampTag(timestamp) { out.append(byte) }
            }
        case .transportStream:
            window =
                if let room = unsafe room { unsafe SegmentWindow(over: room) } else {
                    SegmentWindow(memory, 0..<Multiplexer.outputSize)
                }
            let media = SegmentWindow(memory, Multiplexer.outputSize..<WindowMemory.size)
            multiplexer = Multiplexer(segment, format: format, walk: walk, media: media, into: &window)
        }
    }

    /// Makes more, as much as there is room for.
    ///
    /// - Returns: false if all was made before.
    mutating func makeMore() throws -> Bool {
        window.compact()
        if let more = try multiplexer?.makeMore(input, &position, end, into: &window) { return more }
        guard position < end else { return false }
        try window.fill(from: input, &position, end, atLeast: 1)
        return true
    }
}

extension SegmentWindow {
    /// Reads as much media as fits, until at least `atLeast` bytes are available.
    mutating func fill(from input: any SegmentInput, _ position: inout Int64, _ end: Int64, atLeast: Int) throws {
        let goal = count + atLeast
        while count < goal {
            let before = count
            try append(atMost: Int(min(end - position, Int64(free)))) { out in try input.read(at: position, into: &out) }
            guard count > before else { throw PackagerError(.mediaTruncated, "the stored media ends within a segment") }
            position += Int64(count - before)
        }
    }
}
