// SPDX-License-Identifier: Apache-2.0

/// A compressed audio format that can be cut at frame boundaries and streamed unchanged.
public enum AudioCodec: Sendable, Hashable {
    /// MPEG audio Layer III (ISO/IEC 11172-3, 13818-3; 2.5 is the customary extension to lower rates).
    case mp3(MPEGVersion)
    /// AAC with 1,024 samples a frame, framed as ADTS (ISO/IEC 14496-3).
    case aac(AACProfile)
}

/// Which MPEG audio standard a Layer III stream follows; it decides sample rates and samples per frame.
public enum MPEGVersion: UInt8, Sendable, Hashable, CaseIterable {
    /// ISO/IEC 11172-3: 32, 44.1, 48 kHz.
    case mpeg1
    /// ISO/IEC 13818-3: 16, 22.05, 24 kHz.
    case mpeg2
    /// The extension to 8, 11.025, 12 kHz.
    case mpeg25

    /// Samples of each channel in one Layer III frame.
    @inlinable
    public var samplesPerFrame: Int { self == .mpeg1 ? 1152 : 576 }
}

/// The AAC profile of a stream.
public enum AACProfile: UInt8, Sendable, Hashable, CaseIterable {
    /// AAC Main, audio object type 1.
    case main
    /// AAC Low Complexity, audio object type 2.
    case lc
    /// AAC Scalable Sample Rate, audio object type 3.
    case ssr
    /// AAC Long Term Prediction, audio object type 4.
    case ltp
    /// Low Complexity with implicitly signalled spectral band replication (HE-AAC), audio object type 5.
    case he
    /// The same with implicitly signalled parametric stereo (HE-AAC v2), audio object type 29.
    case heV2

    /// The `profile_ObjectType` field of ADTS: the audio object type minus one; for layered formats, the core's.
    @inlinable
    public var adtsProfile: UInt8 {
        switch self {
        case .main: 0
        case .lc, .he, .heV2: 1
        case .ssr: 2
        case .ltp: 3
        }
    }

    /// The audio object type (ISO/IEC 14496-3 table 1.17) that names the whole of it.
    package var objectType: Int {
        switch self {
        case .main: 1
        case .lc: 2
        case .ssr: 3
        case .ltp: 4
        case .he: 5
        case .heV2: 29
        }
    }
}
