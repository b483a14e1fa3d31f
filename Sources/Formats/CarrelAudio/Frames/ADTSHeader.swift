// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The header of an ADTS frame (ISO/IEC 13818-7 §6.2, 14496-3 §1.A.2.2).
public struct ADTSHeader: Sendable, Hashable {
    /// Samples of each channel in one raw data block.
    package static let samplesPerBlock = 1024
    /// Maximum frame length in the 13-bit field, header included.
    package static let maximumFrameLength = 8191
    /// Rates by `sampling_frequency_index` (ISO/IEC 14496-3 table 1.18).
    static let sampleRates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]
    /// Sync, layer, profile, rate and channels: what all frames of a stream share in their first four bytes.
    static let fixedMask: UInt32 = 0xfff6_fdc0

    /// The first four bytes as a big-endian number.
    public let word: UInt32
    /// Bytes of the whole frame, header included.
    public let frameLength: Int
    /// Raw data blocks in the frame, 1 to 4.
    public let blocks: Int

    @inlinable
    init(word: UInt32, frameLength: Int, blocks: Int) {
        self.word = word
        self.frameLength = frameLength
        self.blocks = blocks
    }

    /// The header at `offset`, or nil if its seven bytes do not fit into the span or are not an ADTS header with a known rate.
    @inlinable
    public static func parse(_ span: RawSpan, at offset: Int) -> ADTSHeader? {
        guard offset >= 0, span.byteCount &- offset >= 7 else { return nil }
        let word = span.u32(at: offset)
        guard word & 0xfff6_0000 == 0xfff0_0000, word & 0x3c00 <= 0x3000 else { return nil }
        let low = span.u16(at: offset &+ 4)
        let header = ADTSHeader(
            word: word,
            frameLength: Int((word & 3) << 11 | UInt32(low) >> 5),
            blocks: Int(span.u8(at: offset &+ 6) & 3) &+ 1
        )
        return header.frameLength >= header.headerLength ? header : nil
    }

    /// The profile of the core; ADTS does not signal band replication.
    package var profile: AACProfile {
        switch word >> 14 & 3 {
        case 0: .main
        case 1: .lc
        case 2: .ssr
        default: .ltp
        }
    }

    /// Samples of each channel per second, of the core.
    package var sampleRate: Int { Self.sampleRates[Int(word >> 10 & 15)] }

    /// Number of channels; 0 if a program config element in the first block declares it.
    package var channels: Int {
        let configuration = Int(word >> 6 & 7)
        return configuration == 7 ? 8 : configuration
    }

    /// Bytes of the header: 7, or 9 with CRC.
    @inlinable
    public var headerLength: Int { word & 0x0001_0000 == 0 ? 9 : 7 }
}
