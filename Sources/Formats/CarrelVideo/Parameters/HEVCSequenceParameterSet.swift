// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The fields of an H.265 sequence parameter set that packaging needs (ISO/IEC 23008-2 §7.3.2.2).
package struct HEVCSequenceParameterSet: Sendable, Hashable {
    /// Profile, tier and level.
    package let profile: HEVCProfile
    /// Temporal layers, 1 to 7.
    package let temporalLayers: UInt8
    /// Whether every picture may be a switching point between temporal layers.
    package let isTemporallyNested: Bool
    /// `chroma_format_idc`: 1 is 4:2:0.
    package let chromaFormat: UInt8
    /// Bits of a luma sample.
    package let lumaBitDepth: UInt8
    /// Bits of a chroma sample.
    package let chromaBitDepth: UInt8
    /// The size of a decoded picture, conformance window applied.
    package let size: PictureSize

    /// Reads a NAL unit.
    ///
    /// - Parameter unit: the whole unit, header included, without start code or length.
    /// - Throws: if it is not a sequence parameter set, ends early, or names a size beyond 65,536 samples.
    package init(_ unit: RawSpan) throws(Malformed) {
        var bits = try ParameterBits(unit)
        let header = try bits.bits(16, "NAL unit header")
        guard header & 0xfe00 == 33 << 9 else { throw Malformed("NAL unit is not a sequence parameter set", at: 0) }
        _ = try bits.bits(4, "video parameter set id")
        let layers = Int(try bits.bits(3, "temporal layers"))
        guard layers < 7 else { throw Malformed("number of temporal layers is reserved", at: 2) }
        temporalLayers = UInt8(layers + 1)
        isTemporallyNested = try bits.flag("temporal nesting")
        profile = try HEVCProfile(&bits, layers: layers)
        _ = try bits.unsigned("sequence parameter set id", limit: 15)
        let format = try bits.unsigned("chroma format", limit: 3)
        var separatePlanes = false
        if format == 3 { separatePlanes = try bits.flag("separate colour planes") }
        var width = try bits.unsigned("width", limit: 65_536)
        var height = try bits.unsigned("height", limit: 65_536)
        if try bits.flag("conformance window") {
            let chroma = separatePlanes ? 0 : format
            let unitX = chroma == 1 || chroma == 2 ? 2 : 1
            let unitY = chroma == 1 ? 2 : 1
            let left = try bits.unsigned("conformance window", limit: 65_535)
            let right = try bits.unsigned("conformance window", limit: 65_535)
            let top = try bits.unsigned("conformance window", limit: 65_535)
            let bottom = try bits.unsigned("conformance window", limit: 65_535)
            width -= (left + right) * unitX
            height -= (top + bottom) * unitY
        }
        guard width > 0, height > 0 else { throw Malformed("conformance window leaves no picture", at: bits.position / 8) }
        size = PictureSize(width: width, height: height)
        chromaFormat = UInt8(format)
        lumaBitDepth = 8 + UInt8(try bits.unsigned("luma bit depth", limit: 8))
        chromaBitDepth = 8 + UInt8(try bits.unsigned("chroma bit depth", limit: 8))
    }
}
