// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header of an MPEG audio frame of Layer II or III, as transport streams carry both under one type (ISO/IEC 11172-3 §2.4.1.3).
package struct MPEGAudioFrame: Sendable, Hashable {
    /// 2 or 3.
    package let layer: Int
    /// Samples of each channel per second.
    package let sampleRate: Int
    /// One or two.
    package let channels: Int
    /// Bytes of the frame, header included.
    package let frameLength: Int
    /// Samples of each channel in the frame.
    package let samplesPerFrame: Int

    /// Bit rates of Layer II in MPEG-1 by index, in kbit/s; MPEG-2 uses the Layer III rates.
    private static let rates = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]

    /// Reads the header at `offset`; nil if its four bytes exceed the span or are not the header of a usable frame.
    package static func parse(_ span: RawSpan, at offset: Int) -> MPEGAudioFrame? {
        guard offset >= 0, span.byteCount - offset >= 4 else { return nil }
        let word = span.u32(at: offset)
        if let header = MP3FrameHeader.parse(word) {
            return MPEGAudioFrame(
                layer: 3,
                sampleRate: header.sampleRate,
                channels: header.channels,
                frameLength: header.frameLength,
                samplesPerFrame: header.samplesPerFrame
            )
        }
        // the remaining fields are the same as in Layer III
        guard word & 0x0006_0000 == 0x0004_0000, let twin = MP3FrameHeader.parse(word & ~0x0006_0000 | 0x0002_0000) else {
            return nil
        }
        let kilobits = twin.version == .mpeg1 ? rates[Int(word >> 12 & 15)] : twin.bitrate / 1000
        return MPEGAudioFrame(
            layer: 2,
            sampleRate: twin.sampleRate,
            channels: twin.channels,
            frameLength: 144_000 * kilobits / twin.sampleRate + (twin.padded ? 1 : 0),
            samplesPerFrame: 1152
        )
    }
}
