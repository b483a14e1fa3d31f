// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The properties shared by all frames of one elementary stream.
public struct AudioFormat: Sendable, Hashable, CustomStringConvertible {
    /// The codec with its version or profile.
    public let codec: AudioCodec
    /// Samples per channel and second on the timeline; for HE-AAC, the core's rate, which is half the output rate.
    package let sampleRate: Int
    /// Number of coded channels; one for HE-AAC v2, which decodes to two.
    package let channels: Int
    /// Samples of each channel in one frame, at `sampleRate`.
    package let samplesPerFrame: Int
    /// The bits of a frame's first four bytes that every frame shares, and their values.
    @usableFromInline
    let mask: UInt32
    @usableFromInline
    let pattern: UInt32
    /// The length of an MP3 frame by its bit-rate index, without padding; 0 if invalid, and for AAC.
    @usableFromInline
    let lengths: SIMD16<UInt16>

    /// Creates a format; returns nil if the codec does not support the sample rate or channel count.
    ///
    /// - Parameters:
    ///   - codec: the codec with its version or profile.
    ///   - sampleRate: per second; for HE-AAC the rate of the core.
    ///   - channels: the coded channels.
    package init?(codec: AudioCodec, sampleRate: Int, channels: Int) {
        switch codec {
        case .mp3(let version):
            guard (1...2).contains(channels), let rate = MP3FrameHeader.rateBits(of: sampleRate, in: version) else { return nil }
            mask = MP3FrameHeader.fixedMask
            pattern = 0xffe2_0000 | MP3FrameHeader.versionBits(of: version) | rate
            lengths = MP3FrameHeader.lengths(of: pattern)
            samplesPerFrame = version.samplesPerFrame
        case .aac(let profile):
            guard let template = ADTSTemplate(profile: profile, sampleRate: sampleRate, channels: channels) else { return nil }
            mask = ADTSHeader.fixedMask
            pattern = template.word & mask
            lengths = .zero
            samplesPerFrame = ADTSHeader.samplesPerBlock
        }
        self.codec = codec
        self.sampleRate = sampleRate
        self.channels = channels
    }

    init(_ header: MP3FrameHeader) {
        codec = .mp3(header.version)
        sampleRate = header.sampleRate
        channels = header.channels
        samplesPerFrame = header.samplesPerFrame
        mask = MP3FrameHeader.fixedMask
        pattern = header.word & mask
        lengths = MP3FrameHeader.lengths(of: pattern)
    }

    /// The codec as in the `CODECS` attribute and `codecs` parameter (RFC 6381 §3.3), such as `mp4a.40.2`.
    package var codecString: String {
        switch codec {
        case .mp3: "mp4a.40.34"
        case .aac(let profile): "mp4a.40.\(profile.objectType)"
        }
    }

    /// The codec string, rate and channels.
    public var description: String { "\(codecString) \(sampleRate) Hz \(channels) ch" }

    /// The number of output channels.
    package var outputChannels: Int { codec == .aac(.heV2) ? 2 : channels }

    /// The frame header to put before each raw AAC block of this format; nil for MP3, whose frames have their own.
    package var adts: ADTSTemplate? {
        guard case .aac(let profile) = codec else { return nil }
        return ADTSTemplate(profile: profile, sampleRate: sampleRate, channels: channels)
    }

    /// The length in bytes of the frame that starts at `offset`, its header included.
    ///
    /// Walks a stream of whole frames back to back. The frame may reach past the end of the span.
    ///
    /// - Returns: nil if the header does not fit into the span or does not belong to a stream of this format.
    @inlinable
    public func frameLength(in span: RawSpan, at offset: Int) -> Int? {
        guard offset >= 0, span.byteCount &- offset >= 4 else { return nil }
        let word = span.u32(at: offset)
        guard word & mask == pattern else { return nil }
        switch codec {
        case .mp3:
            let length = Int(lengths[Int(word >> 12 & 15)])
            return length == 0 ? nil : length &+ Int(word >> 9 & 1)
        case .aac:
            guard let header = ADTSHeader.parse(span, at: offset), header.blocks == 1 else { return nil }
            return header.frameLength
        }
    }
}

extension ADTSHeader {
    /// The format shared by all frames of its stream; nil when the channels are not in the header.
    package var format: AudioFormat? {
        AudioFormat(codec: .aac(profile), sampleRate: sampleRate, channels: channels)
    }
}

extension MP3FrameHeader {
    /// The format shared by all frames of its stream.
    package var format: AudioFormat {
        AudioFormat(self)
    }
}
