// SPDX-License-Identifier: Apache-2.0

/// The four-byte header of an MPEG audio Layer III frame (ISO/IEC 11172-3 §2.4.1.3, 13818-3 §2.4.1.3).
public struct MP3FrameHeader: Sendable, Hashable {
    /// How the channels are coded.
    public enum ChannelMode: UInt8, Sendable, Hashable {
        case stereo, jointStereo, dualChannel, mono
    }

    /// Why four bytes are not the header of a usable frame.
    package enum Refusal: String, Sendable, Hashable {
        case noSync = "frame sync is missing"
        case reservedVersion = "MPEG version is reserved"
        case otherLayer = "layer is not III"
        case freeFormat = "free-format bit rate is not supported"
        case reservedBitrate = "bit rate is reserved"
        case reservedSampleRate = "sample rate is reserved"
    }

    /// Sync, version, layer and sample rate: common to all frames of a stream. Bit rate and stereo mode vary.
    static let fixedMask: UInt32 = 0xfffe_0c00

    /// The header as a big-endian number.
    public let word: UInt32

    @inlinable
    init(valid word: UInt32) {
        self.word = word
    }

    /// The header in `word` (big-endian), or nil if it is not the header of a usable Layer III frame.
    @inlinable
    public static func parse(_ word: UInt32) -> MP3FrameHeader? {
        guard word & 0xffe6_0000 == 0xffe2_0000, word & 0x0018_0000 != 0x0008_0000 else { return nil }
        let bitrate = word & 0xf000
        guard bitrate != 0, bitrate != 0xf000, word & 0x0c00 != 0x0c00 else { return nil }
        return MP3FrameHeader(valid: word)
    }

    /// The reason why `parse` refuses `word`; nil if it does not.
    package static func refusal(_ word: UInt32) -> Refusal? {
        if word & 0xffe0_0000 != 0xffe0_0000 { return .noSync }
        if word & 0x0018_0000 == 0x0008_0000 { return .reservedVersion }
        if word & 0x0006_0000 != 0x0002_0000 { return .otherLayer }
        if word & 0x0c00 == 0x0c00 { return .reservedSampleRate }
        if word & 0xf000 == 0xf000 { return .reservedBitrate }
        if word & 0xf000 == 0 { return .freeFormat }
        return nil
    }

    /// The standard the frame follows.
    @inlinable
    public var version: MPEGVersion {
        switch word >> 19 & 3 {
        case 3: .mpeg1
        case 2: .mpeg2
        default: .mpeg25
        }
    }

    /// Samples of each channel per second.
    @inlinable
    public var sampleRate: Int { Int(rate) }

    @inlinable
    var rate: UInt32 {
        let base: UInt32 =
            switch word >> 10 & 3 {
            case 0: 44100
            case 1: 48000
            default: 32000
            }
        return base >> UInt32(version.rawValue)
    }

    /// Bits per second.
    @inlinable
    public var bitrate: Int { Int(kilobits) * 1000 }

    /// The bit-rate tables as arithmetic: MPEG-1 climbs in four steps an octave from 32, MPEG-2 in steps of 8 to 64 and then of
    /// 16.
    @inlinable
    var kilobits: UInt32 {
        let index = word >> 12 & 15
        if word & 0x0008_0000 != 0 {
            let step = index &- 1
            return (4 &+ (step & 3)) << (3 &+ (step >> 2))
        }
        return 8 &* (index > 8 ? 2 &* index &- 8 : index)
    }

    /// Whether the frame is one byte longer to keep the average bit rate.
    @inlinable
    public var padded: Bool { word & 0x0200 != 0 }

    /// Whether two bytes of CRC follow the header.
    @inlinable
    public var hasCRC: Bool { word & 0x0001_0000 == 0 }

    /// How the channels are coded; it may vary from frame to frame, except between mono and the rest.
    @inlinable
    public var channelMode: ChannelMode {
        switch word >> 6 & 3 {
        case 0: .stereo
        case 1: .jointStereo
        case 2: .dualChannel
        default: .mono
        }
    }

    /// One or two.
    @inlinable
    public var channels: Int { word & 0xc0 == 0xc0 ? 1 : 2 }

    /// Samples of each channel in the frame.
    @inlinable
    public var samplesPerFrame: Int { version.samplesPerFrame }

    /// Bytes of the whole frame, header included.
    ///
    /// 144 (MPEG-1) or 72 times the bit rate over the sample rate, both fractions reduced: a division by a constant is a
    /// multiplication.
    @inlinable
    public var frameLength: Int {
        let scaled = version == .mpeg25 ? kilobits &<< 1 : kilobits
        let length =
            switch word & 0x0c00 {
            case 0: 160 &* scaled / 49
            case 0x0400: 3 &* scaled
            default: 9 &* scaled / 2
            }
        return Int(length &+ (word >> 9 & 1))
    }

    /// Bytes of the side information after the header and CRC.
    @inlinable
    public var sideInfoLength: Int {
        switch (version, channels) {
        case (.mpeg1, 1): 17
        case (.mpeg1, _): 32
        case (_, 1): 9
        default: 17
        }
    }

    /// Frame lengths by bit-rate index, for headers with this version and sample rate.
    static func lengths(of pattern: UInt32) -> SIMD16<UInt16> {
        var lengths = SIMD16<UInt16>.zero
        for index in 1..<15 {
            lengths[index] = UInt16(MP3FrameHeader(valid: pattern | UInt32(index) << 12).frameLength)
        }
        return lengths
    }

    static func versionBits(of version: MPEGVersion) -> UInt32 {
        switch version {
        case .mpeg1: 3 << 19
        case .mpeg2: 2 << 19
        case .mpeg25: 0
        }
    }

    static func rateBits(of sampleRate: Int, in version: MPEGVersion) -> UInt32? {
        switch sampleRate << Int(version.rawValue) {
        case 44100: 0
        case 48000: 1 << 10
        case 32000: 2 << 10
        default: nil
        }
    }
}
