// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The fields of an H.264 sequence parameter set that packaging needs (ISO/IEC 14496-10 §7.3.2.1.1).
package struct AVCSequenceParameterSet: Sendable, Hashable {
    /// `profile_idc`.
    package let profile: UInt8
    /// The constraint flags after the profile.
    package let constraints: UInt8
    /// `level_idc`: ten times the level.
    package let level: UInt8
    /// `chroma_format_idc`: 1 is 4:2:0.
    package let chromaFormat: UInt8
    /// Bits of a luma sample.
    package let lumaBitDepth: UInt8
    /// Bits of a chroma sample.
    package let chromaBitDepth: UInt8
    /// `pic_order_cnt_type`: 2 is the order of decoding.
    let orderType: Int
    /// Every picture is a frame, none a field.
    package let isFramesOnly: Bool
    /// The size of a decoded picture, cropping applied.
    package let size: PictureSize

    /// Profiles whose parameter set contains chroma format, bit depth and scaling.
    static let highProfiles: Set<UInt8> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    /// Reads a NAL unit.
    ///
    /// - Parameter unit: the whole unit, header included, without start code or length.
    /// - Throws: if it is not a sequence parameter set, ends early, or names a size beyond 65,536 samples.
    package init(_ unit: RawSpan) throws(Malformed) {
        var bits = try ParameterBits(unit)
        try self.init(&bits)
    }

    /// Reads a set up to its usability information.
    init(usability bits: inout ParameterBits) throws(Malformed) { try self.init(&bits) }

    private init(_ bits: inout ParameterBits) throws(Malformed) {
        let header = UInt8(try bits.bits(8, "NAL unit header"))
        guard header & 0x9f == 7 else { throw Malformed("NAL unit is not a sequence parameter set", at: 0) }
        profile = UInt8(try bits.bits(8, "profile"))
        constraints = UInt8(try bits.bits(8, "constraint flags"))
        level = UInt8(try bits.bits(8, "level"))
        _ = try bits.unsigned("sequence parameter set id", limit: 31)
        var format = 1
        var separatePlanes = false
        var lumaDepth = 8
        var chromaDepth = 8
        if Self.highProfiles.contains(profile) {
            format = try bits.unsigned("chroma format", limit: 3)
            if format == 3 { separatePlanes = try bits.flag("separate colour planes") }
            lumaDepth = 8 + (try bits.unsigned("luma bit depth", limit: 6))
            chromaDepth = 8 + (try bits.unsigned("chroma bit depth", limit: 6))
            _ = try bits.flag("transform bypass")
            if try bits.flag("scaling matrix") { try Self.skipScaling(&bits, lists: format == 3 ? 12 : 8) }
        }
        orderType = try Self.readOrder(&bits)
        _ = try bits.unsigned("reference frames", limit: 16)
        _ = try bits.flag("gaps in frame numbers")
        let columns = 1 + (try bits.unsigned("width", limit: 4095))
        let rows = 1 + (try bits.unsigned("height", limit: 4095))
        isFramesOnly = try bits.flag("frames only")
        if !isFramesOnly { _ = try bits.flag("adaptive frames and fields") }
        _ = try bits.flag("direct inference")
        // a field is half as high as a frame
        let lines = isFramesOnly ? 1 : 2
        var width = columns * 16
        var height = rows * 16 * lines
        if try bits.flag("cropping") {
            let chroma = separatePlanes ? 0 : format
            let unitX = chroma == 1 || chroma == 2 ? 2 : 1
            let unitY = (chroma == 1 ? 2 : 1) * lines
            let left = try bits.unsigned("cropping", limit: 65_535)
            let right = try bits.unsigned("cropping", limit: 65_535)
            let top = try bits.unsigned("cropping", limit: 65_535)
            let bottom = try bits.unsigned("cropping", limit: 65_535)
            width -= (left + right) * unitX
            height -= (top + bottom) * unitY
        }
        guard width > 0, height > 0 else { throw Malformed("cropping leaves no picture", at: bits.position / 8) }
        size = PictureSize(width: width, height: height)
        chromaFormat = UInt8(format)
        lumaBitDepth = UInt8(lumaDepth)
        chromaBitDepth = UInt8(chromaDepth)
    }

    /// §7.3.2.1.1.1.
    private static func skipScaling(_ bits: inout ParameterBits, lists: Int) throws(Malformed) {
        for list in 0..<lists where try bits.flag("scaling list") {
            var last = 8
            var next = 8
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last + (try bits.signed("scaling delta"))) & 255 }
                if next != 0 { last = next }
            }
        }
    }

    /// Reads `pic_order_cnt_type` and skips the fields that depend on it.
    private static func readOrder(_ bits: inout ParameterBits) throws(Malformed) -> Int {
        _ = try bits.unsigned("frame number length", limit: 12)
        let type = try bits.unsigned("picture order type", limit: 2)
        switch type {
        case 0: _ = try bits.unsigned("picture order length", limit: 12)
        case 1:
            _ = try bits.flag("picture order delta")
            _ = try bits.signed("picture order offset")
            _ = try bits.signed("picture order offset")
            for _ in 0..<(try bits.unsigned("picture order cycle", limit: 255)) { _ = try bits.signed("picture order offset") }
        default: break
        }
        return type
    }
}
