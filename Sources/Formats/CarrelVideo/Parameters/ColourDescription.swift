// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The colours of a stream as its sequence parameter set describes them (ISO/IEC 14496-10 and 23008-2, annex E; numbers of ISO/IEC
/// 23091-2).
package struct ColourDescription: Sendable, Hashable {
    /// `colour_primaries`.
    package let primaries: UInt8
    /// `transfer_characteristics`: 16 is PQ, 18 HLG.
    package let transfer: UInt8
    /// `matrix_coeffs`.
    package let matrix: UInt8

    /// Reads a sequence parameter set; returns nil if it does not describe the colors, or is damaged.
    ///
    /// - Parameters:
    ///   - unit: the whole unit, header included, without start code or length.
    ///   - codec: the codec.
    package init?(_ unit: RawSpan, _ codec: VideoCodec) {
        do throws(Malformed) {
            var bits = try ParameterBits(unit)
            switch codec {
            case .h264: _ = try AVCSequenceParameterSet(usability: &bits)
            case .h265:
                _ = try bits.bits(16, "NAL unit header")
                _ = try HEVCSequenceSyntax(&bits)
                _ = try bits.flag("intra smoothing")
            }
            guard try bits.flag("usability information") else { return nil }
            // both codecs begin alike
            if try bits.flag("sample shape"), try bits.bits(8, "sample shape") == 255 { _ = try bits.bits(32, "sample shape") }
            if try bits.flag("overscan") { _ = try bits.flag("overscan") }
            guard try bits.flag("video signal type") else { return nil }
            _ = try bits.bits(4, "video format")
            guard try bits.flag("colour description") else { return nil }
            primaries = UInt8(truncatingIfNeeded: try bits.bits(8, "colour primaries"))
            transfer = UInt8(truncatingIfNeeded: try bits.bits(8, "transfer characteristics"))
            matrix = UInt8(truncatingIfNeeded: try bits.bits(8, "matrix coefficients"))
        } catch {
            return nil
        }
    }
}
