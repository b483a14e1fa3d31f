// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Walks a stream of one format frame by frame: equal to `AudioFormat.frameLength`, from a table and one load.
struct FrameWalk: Sendable, Hashable {
    private let format: AudioFormat
    /// Bits of the first eight bytes that every frame shares, and their values.
    private let mask: UInt64
    private let pattern: UInt64
    /// Frame lengths of MP3 by bit-rate index and padding; empty for AAC, whose frames say their length.
    private let lengths: [UInt16]
    private let isMP3: Bool

    init(_ format: AudioFormat) {
        self.format = format
        switch format.codec {
        case .mp3:
            isMP3 = true
            mask = 0xfffe_0c00 << 32  // sync, version, layer, sample rate
            let header = Self.mp3Header(of: format)
            pattern = UInt64(header) << 32 & mask
            lengths = (0..<32 as Range<UInt32>).map { i in
                let word = header & 0xffff_0dff | (i >> 1) << 12 | (i & 1) << 9
                return UInt16(MP3FrameHeader.parse(word)?.frameLength ?? 0)
            }
        case .aac:
            isMP3 = false
            lengths = []
            mask = 0xfff6_fdc0 << 32 | 0x300  // sync, layer, profile, rate, channels; one block
            let header = format.adts?.header(payloadLength: 0) ?? [7 of UInt8](repeating: 0)
            pattern = (0..<4).reduce(0) { $0 << 8 | UInt64(header[$1]) } << 32 & mask
        }
    }

    /// The length in bytes of the frame that starts at `offset`; nil if no frame of the format does.
    @inline(__always)
    func frameLength(in span: RawSpan, at offset: Int) -> Int? {
        guard span.byteCount &- offset >= 8 else { return format.frameLength(in: span, at: offset) }
        let head = span.u64(at: offset)
        guard head & mask == pattern else { return nil }
        let length =
            isMP3
            ? Int(lengths[Int(truncatingIfNeeded: head >> 43 & 30 | head >> 41 & 1)])
            : Int(truncatingIfNeeded: head >> 21 & 0x1fff)
        return length >= 7 ? length : nil
    }

    /// A header of the format.
    private static func mp3Header(of format: AudioFormat) -> UInt32 {
        for version in [3, 2, 0] as [UInt32] {
            for rate in 0..<3 as Range<UInt32> {
                let word = 0xffe3_1000 | version << 19 | rate << 10 | (format.channels == 1 ? 0xc0 : 0)
                if MP3FrameHeader.parse(word)?.format == format { return word }
            }
        }
        preconditionFailure("no MP3 header says \(format)")
    }
}
