// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// How an MPEG-4 audio stream is to be decoded (ISO/IEC 14496-3 §1.6.2.1), as MP4 files carry it.
package struct AudioSpecificConfig: Sendable, Hashable {
    /// How a stream signals an extension.
    package enum Signalling: Sendable, Hashable {
        /// Not signalled; small sample rates may still have band replication, which a decoder detects.
        case none
        /// The object type comes first (hierarchical signalling).
        case explicit
        /// An extension at the end, which older decoders ignore (backward-compatible signalling).
        case compatible
    }

    /// Why frames of such a stream cannot be framed as ADTS.
    package enum Refusal: Sendable, Hashable, CustomStringConvertible {
        /// An object type that does not fit into the two bits of ADTS: it supports only 1 (Main), 2 (LC), 3 (SSR) and 4 (LTP).
        case objectType(Int)
        /// Frames of 960 samples.
        case shortFrames
        /// No channel configuration, but a program config element.
        case programConfig
        /// A channel configuration that ADTS has no number for.
        case channelConfiguration(Int)
        /// A sample rate outside the table.
        case sampleRate(Int)

        package var description: String {
            switch self {
            case .objectType(let type): "audio object type \(type) cannot be said in ADTS"
            case .shortFrames: "frames of 960 samples cannot be said in ADTS"
            case .programConfig: "channels of a program config element cannot be said in ADTS"
            case .channelConfiguration(let number): "channel configuration \(number) cannot be said in ADTS"
            case .sampleRate(let rate): "a sample rate of \(rate) cannot be said in ADTS"
            }
        }
    }

    /// The audio object type of the core (table 1.17): 2 is AAC LC.
    package private(set) var objectType = 0
    /// Samples of each channel per second, of the core.
    package private(set) var sampleRate = 0
    /// The channel configuration (table 1.19); 0 if a program config element declares it.
    package private(set) var channelConfiguration = 0
    /// Samples of each channel in one frame of the core.
    package private(set) var samplesPerFrame = 1024
    /// Number of core channels; from a program config element if there is one, 0 if unknown.
    package private(set) var channels = 0
    /// Spectral band replication (HE-AAC).
    package private(set) var bandReplication = Signalling.none
    /// Parametric stereo (HE-AAC v2).
    package private(set) var parametricStereo = Signalling.none
    /// Samples per channel and second after spectral band replication, if it is signalled.
    package private(set) var extensionSampleRate: Int?

    /// Reads the bytes of a decoder-specific info.
    ///
    /// - Parameter bytes: the configuration; following bytes are ignored.
    /// - Throws: if it is truncated or uses a reserved rate.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var bits = BitCursor(bytes)
        objectType = try Self.objectType(&bits)
        sampleRate = try Self.sampleRate(&bits)
        channelConfiguration = try bits.bits(4, "channel configuration")
        channels = Self.channels(of: channelConfiguration)
        if objectType == 5 || objectType == 29 {
            bandReplication = .explicit
            if objectType == 29 { parametricStereo = .explicit }
            extensionSampleRate = try Self.sampleRate(&bits)
            objectType = try Self.objectType(&bits)
        }
        guard Self.generalTypes.contains(objectType) else { return }
        try readGeneral(&bits)
        if bandReplication == .none { try readCompatibleExtension(&bits) }
    }

    /// The format of all frames in ADTS framing, if that is possible.
    package var format: Result<AudioFormat, Refusal> {
        let profile: AACProfile
        switch objectType {
        case 1: profile = .main
        case 2: profile = parametricStereo != .none ? .heV2 : bandReplication != .none ? .he : .lc
        case 3: profile = .ssr
        case 4: profile = .ltp
        default: return .failure(.objectType(objectType))
        }
        if samplesPerFrame != 1024 { return .failure(.shortFrames) }
        if channelConfiguration == 0 { return .failure(.programConfig) }
        if channelConfiguration > 7 { return .failure(.channelConfiguration(channelConfiguration)) }
        guard let format = AudioFormat(codec: .aac(profile), sampleRate: sampleRate, channels: channels) else {
            return .failure(.sampleRate(sampleRate))
        }
        return .success(format)
    }

    /// The frame header to put before each raw block, if ADTS supports this configuration.
    package var adts: ADTSTemplate? {
        guard case .success(let format) = format else { return nil }
        return format.adts
    }

    // MARK: - Fields

    /// Object types followed by a general audio configuration (§4.4.1).
    private static let generalTypes: Set<Int> = [1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23]

    private static func channels(of configuration: Int) -> Int {
        switch configuration {
        case 1...6: configuration
        case 7, 12, 14: 8
        case 11: 7
        default: 0
        }
    }

    private static func objectType(_ bits: inout BitCursor) throws(Malformed) -> Int {
        let type = try bits.bits(5, "audio object type")
        return type == 31 ? 32 + (try bits.bits(6, "audio object type")) : type
    }

    private static func sampleRate(_ bits: inout BitCursor) throws(Malformed) -> Int {
        let index = try bits.bits(4, "sample rate")
        if index == 15 { return try bits.bits(24, "sample rate") }
        guard index < ADTSHeader.sampleRates.count else {
            throw Malformed("sample rate index \(index) is reserved", at: (bits.position - 1) / 8)
        }
        return ADTSHeader.sampleRates[index]
    }

    private mutating func readGeneral(_ bits: inout BitCursor) throws(Malformed) {
        let isShort = try bits.flag("frame length flag")
        samplesPerFrame = objectType == 23 ? (isShort ? 480 : 512) : (isShort ? 960 : 1024)
        if try bits.flag("core coder flag") { _ = try bits.bits(14, "core coder delay") }
        let hasExtension = try bits.flag("extension flag")
        if channelConfiguration == 0 { channels = try Self.programConfigChannels(&bits) }
        if objectType == 6 || objectType == 20 { _ = try bits.bits(3, "layer number") }
        guard hasExtension else { return }
        if objectType == 22 { _ = try bits.bits(16, "sub-frames and layer length") }
        if [17, 19, 20, 23].contains(objectType) { _ = try bits.bits(3, "resilience flags") }
        _ = try bits.flag("extension flag 3")
    }

    /// Channels of a program config element (§4.4.1.1).
    private static func programConfigChannels(_ bits: inout BitCursor) throws(Malformed) -> Int {
        let what: StaticString = "program config element"
        _ = try bits.bits(4 + 2 + 4, what)
        let speakers = [try bits.bits(4, what), try bits.bits(4, what), try bits.bits(4, what)].reduce(0, +)
        let effects = try bits.bits(2, what)
        let data = try bits.bits(3, what)
        let coupling = try bits.bits(4, what)
        for mixdown in [4, 4, 3] where try bits.flag(what) { _ = try bits.bits(mixdown, what) }
        var channels = effects
        for _ in 0..<speakers {
            channels += try bits.flag(what) ? 2 : 1
            _ = try bits.bits(4, what)
        }
        for _ in 0..<effects + data { _ = try bits.bits(4, what) }
        for _ in 0..<coupling { _ = try bits.bits(5, what) }
        bits.align()
        for _ in 0..<(try bits.bits(8, what)) { _ = try bits.bits(8, what) }
        return channels
    }

    /// Reads the sync extension 0x2b7, which signals spectral band replication after the core's configuration (§1.6.2.1).
    private mutating func readCompatibleExtension(_ bits: inout BitCursor) throws(Malformed) {
        guard bits.remaining >= 16, try bits.bits(11, "sync extension") == 0x2b7 else { return }
        guard try Self.objectType(&bits) == 5, try bits.flag("band replication flag") else { return }
        bandReplication = .compatible
        extensionSampleRate = try Self.sampleRate(&bits)
        if bits.remaining >= 12, try bits.bits(11, "sync extension") == 0x548, try bits.flag("parametric stereo flag") {
            parametricStereo = .compatible
        }
    }
}

extension AudioSpecificConfig.Refusal: Error {}
