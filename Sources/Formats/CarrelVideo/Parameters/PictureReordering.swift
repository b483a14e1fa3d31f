// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How far a sequence parameter set allows pictures to be reordered (ISO/IEC 14496-10 and 23008-2, annex E).
package struct PictureReordering: Sendable, Hashable {
    /// Most pictures that are decoded before a picture and presented after it.
    package let pictures: Int
    /// Ticks of 90 kHz by which a picture may be presented after it was decoded; nil if the duration of a picture is not known.
    package let ticks: Int64?

    /// Ticks, at most: five seconds.
    private static let limit: Int64 = 450_000

    /// Reads a sequence parameter set; returns nil if it does not limit the reordering of pictures, or is damaged.
    ///
    /// - Parameters:
    ///   - unit: the whole unit, header included, without start code or length.
    ///   - codec: the codec.
    package init?(_ unit: RawSpan, _ codec: VideoCodec) {
        do throws(Malformed) {
            var bits = try ParameterBits(unit)
            var pictures: Int?
            switch codec {
            case .h264:
                let set = try AVCSequenceParameterSet(usability: &bits)
                // pictures are presented in the order of decoding, and baseline profiles have no others
                if set.orderType == 2 || set.profile == 66 { pictures = 0 }
            case .h265:
                _ = try bits.bits(16, "NAL unit header")
                pictures = try HEVCSequenceSyntax(&bits).reorderedPictures
                _ = try bits.flag("intra smoothing")
            }
            var duration: Duration?
            if pictures != 0, try bits.flag("usability information") {
                try Self.skipColours(&bits)
                duration = codec == .h264 ? try Self.fields(&bits) : try Self.frames(&bits)
                if codec == .h264 { pictures = try Self.restriction(&bits) }
            }
            guard let pictures else { return nil }
            self.pictures = pictures
            ticks = pictures == 0 ? 0 : duration?.ticks(pictures)
        } catch {
            return nil
        }
    }

    /// The duration of a picture.
    private struct Duration {
        var units: UInt64
        var timescale: UInt64

        func ticks(_ count: Int) -> Int64? {
            guard units > 0, timescale > 0, count <= 16 else { return nil }
            // both have 32 bits
            let ticks = (UInt64(count) &* units &* 90_000 &+ timescale - 1) / timescale
            return ticks <= limit ? Int64(ticks) : nil
        }
    }

    /// Skips the common beginning of both codecs.
    private static func skipColours(_ bits: inout ParameterBits) throws(Malformed) {
        if try bits.flag("sample shape"), try bits.bits(8, "sample shape") == 255 { _ = try bits.bits(32, "sample shape") }
        if try bits.flag("overscan") { _ = try bits.flag("overscan") }
        if try bits.flag("video signal type") {
            _ = try bits.bits(4, "video format")
            if try bits.flag("colour description") { _ = try bits.bits(24, "colours") }
        }
        if try bits.flag("chroma location") { for _ in 0..<2 { _ = try bits.unsigned("chroma location", limit: 5) } }
    }

    /// The duration of two fields of H.264 (§E.2.1).
    private static func fields(_ bits: inout ParameterBits) throws(Malformed) -> Duration? {
        guard try bits.flag("timing") else { return nil }
        let units = try bits.bits(32, "units of a field")
        let timescale = try bits.bits(32, "time scale")
        _ = try bits.flag("fixed rate")
        return Duration(units: 2 * units, timescale: timescale)
    }

    /// The duration of a picture of H.265 (§E.3.1).
    private static func frames(_ bits: inout ParameterBits) throws(Malformed) -> Duration? {
        _ = try bits.bits(3, "fields")
        if try bits.flag("default window") { for _ in 0..<4 { _ = try bits.unsigned("default window", limit: 65_535) } }
        guard try bits.flag("timing") else { return nil }
        return Duration(units: try bits.bits(32, "units of a picture"), timescale: try bits.bits(32, "time scale"))
    }

    /// The reordering that the restriction of an H.264 stream names.
    private static func restriction(_ bits: inout ParameterBits) throws(Malformed) -> Int? {
        let hasBuffer = try bits.flag("buffer")
        if hasBuffer { try skipBuffer(&bits) }
        let hasSecondBuffer = try bits.flag("buffer")
        if hasSecondBuffer { try skipBuffer(&bits) }
        if hasBuffer || hasSecondBuffer { _ = try bits.flag("low delay") }
        _ = try bits.flag("picture structure")
        guard try bits.flag("restriction") else { return nil }
        _ = try bits.flag("motion vectors")
        for _ in 0..<4 { _ = try bits.unsigned("restriction", limit: 65_535) }
        return try bits.unsigned("reordered pictures", limit: 16)
    }

    /// §E.1.2.
    private static func skipBuffer(_ bits: inout ParameterBits) throws(Malformed) {
        let count = 1 + (try bits.unsigned("buffer", limit: 31))
        _ = try bits.bits(8, "buffer")
        for _ in 0..<count {
            for _ in 0..<2 { _ = try bits.unsigned("buffer", limit: Int(UInt32.max)) }
            _ = try bits.flag("constant rate")
        }
        _ = try bits.bits(20, "buffer")
    }
}
