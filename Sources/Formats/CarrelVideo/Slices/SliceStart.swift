// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The first fields of a slice header (ISO/IEC 14496-10 §7.3.3, ISO/IEC 23008-2 §7.3.6.1).
package struct SliceStart: Sendable, Hashable {
    /// Whether the slice is the first of its picture.
    package let isFirst: Bool
    /// `slice_pic_parameter_set_id`.
    package let pictureParameterSet: Int

    /// Reads the fields.
    ///
    /// - Parameters:
    ///   - unit: a NAL unit that is a slice, or its first bytes.
    ///   - codec: its codec.
    /// - Throws: if a field has a value that the standard does not allow, or is cut off.
    package init(_ unit: RawSpan, codec: VideoCodec) throws(Malformed) {
        var bits = try ParameterBits(unit.extracting(0..<min(unit.byteCount, 32)))
        let header = UInt8(try bits.bits(8, "NAL unit header"))
        let type = NALUnitType(codec, header: header)
        switch codec {
        case .h264:
            isFirst = try bits.unsigned("first macroblock", limit: 139_264) == 0
            let slice = try bits.unsigned("slice type", limit: 9) % 5
            // an IDR picture has slices without prediction alone
            guard !type.isRandomAccess || slice == 2 || slice == 4 else {
                throw Malformed("slice of type \(slice) in an IDR picture", at: 1)
            }
            pictureParameterSet = try bits.unsigned("picture parameter set id", limit: 255)
        case .h265:
            _ = try bits.bits(8, "NAL unit header")
            isFirst = try bits.flag("first slice segment")
            if type.isRandomAccess { _ = try bits.flag("prior pictures") }
            pictureParameterSet = try bits.unsigned("picture parameter set id", limit: 63)
        }
    }

    /// The id of a picture parameter set; nil if the unit is of another type, or damaged.
    ///
    /// - Parameters:
    ///   - unit: a whole NAL unit.
    ///   - codec: its codec.
    /// - Returns: `pic_parameter_set_id`.
    package static func id(ofPictureParameterSet unit: RawSpan, codec: VideoCodec) -> Int? {
        guard unit.byteCount > codec.unitHeaderLength, NALUnitType(codec, header: unit.u8(at: 0)).isPictureParameterSet else {
            return nil
        }
        do throws(Malformed) {
            var bits = try ParameterBits(unit.extracting(0..<min(unit.byteCount, 32)))
            _ = try bits.bits(8 * codec.unitHeaderLength, "NAL unit header")
            return try bits.unsigned("picture parameter set id", limit: codec == .h264 ? 255 : 63)
        } catch {
            return nil
        }
    }
}
