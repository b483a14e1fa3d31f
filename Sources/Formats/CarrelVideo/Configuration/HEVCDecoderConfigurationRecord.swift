// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The parameter sets of an H.265 track and the size of its NAL unit lengths: the content of `hvcC` (ISO/IEC 14496-15 §8.3.3.1).
package struct HEVCDecoderConfigurationRecord: Sendable, Hashable {
    /// NAL units of one type.
    package struct UnitArray: Sendable, Hashable {
        /// Whether all units of the type are here, and none in the samples.
        package var isComplete: Bool
        /// `NAL_unit_type`.
        package var type: UInt8
        /// Whole NAL units.
        package var units: [[UInt8]]

        /// Creates an array.
        package init(isComplete: Bool, type: UInt8, units: [[UInt8]]) {
            self.isComplete = isComplete
            self.type = type
            self.units = units
        }
    }

    /// Profile, tier and level.
    package var profile: HEVCProfile
    /// `min_spatial_segmentation_idc`: 0 if nothing is promised.
    package var minimumSpatialSegmentation: UInt16
    /// `parallelismType`: 0 if unknown.
    package var parallelism: UInt8
    /// `chroma_format_idc`: 1 is 4:2:0.
    package var chromaFormat: UInt8
    /// Bits of a luma sample.
    package var lumaBitDepth: UInt8
    /// Bits of a chroma sample.
    package var chromaBitDepth: UInt8
    /// Frames in 256 s; 0 if unspecified.
    package var averageFrameRate: UInt16
    /// `constantFrameRate`, two bits.
    package var constantFrameRate: UInt8
    /// Temporal layers; 0 if unknown.
    package var temporalLayers: UInt8
    /// `temporalIdNested`.
    package var isTemporallyNested: Bool
    /// Bytes of each NAL unit length: 1, 2 or 4.
    package var lengthSize: Int
    /// Parameter sets and SEI messages by type, in the order of the record.
    package var arrays: [UnitArray]

    /// Reads the content of the box.
    ///
    /// - Parameter bytes: the record; following bytes are ignored.
    /// - Throws: if it is truncated, has another version, or names a length of three bytes.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        let version = try cursor.u8("hvcC version")
        // early writers put 0 here
        guard version <= 1 else { throw Malformed("hvcC version is not 1", at: 0) }
        let general = try cursor.u8("profile")
        let compatibility = try cursor.u32("profile compatibility")
        let constraints = UInt64(try cursor.u16("constraint flags")) << 32 | UInt64(try cursor.u32("constraint flags"))
        profile = HEVCProfile(
            space: general >> 6,
            isHighTier: general & 0x20 != 0,
            number: general & 0x1f,
            compatibility: compatibility,
            constraints: constraints,
            level: try cursor.u8("level")
        )
        minimumSpatialSegmentation = try cursor.u16("spatial segmentation") & 0xfff
        parallelism = try cursor.u8("parallelism") & 3
        chromaFormat = try cursor.u8("chroma format") & 3
        lumaBitDepth = 8 + (try cursor.u8("luma bit depth") & 7)
        chromaBitDepth = 8 + (try cursor.u8("chroma bit depth") & 7)
        averageFrameRate = try cursor.u16("average frame rate")
        let layers = try cursor.u8("temporal layers")
        constantFrameRate = layers >> 6
        temporalLayers = layers >> 3 & 7
        isTemporallyNested = layers & 4 != 0
        lengthSize = Int(layers & 3) + 1
        guard lengthSize != 3 else { throw Malformed("NAL unit lengths of 3 bytes are not allowed", at: 21) }
        arrays = []
        for _ in 0..<(try cursor.u8("number of arrays")) {
            let type = try cursor.u8("NAL unit type")
            var units: [[UInt8]] = []
            for _ in 0..<(try cursor.u16("number of NAL units")) {
                let length = Int(try cursor.u16("NAL unit length"))
                guard length > 0 else { throw Malformed("NAL unit is empty", at: cursor.position) }
                units.append([UInt8](copying: try cursor.slice(length, "NAL unit")))
            }
            arrays.append(UnitArray(isComplete: type & 0x80 != 0, type: type & 0x3f, units: units))
        }
    }

    /// Makes the record of a stream from its parameter sets, with lengths of four bytes.
    ///
    /// - Parameters:
    ///   - videoParameterSets: whole NAL units.
    ///   - sequenceParameterSets: whole NAL units; the first decides profile and level.
    ///   - pictureParameterSets: whole NAL units.
    /// - Throws: if the first sequence parameter set cannot be read, or a set is too long.
    package init(
        videoParameterSets: [[UInt8]],
        sequenceParameterSets: [[UInt8]],
        pictureParameterSets: [[UInt8]]
    ) throws(Malformed) {
        guard let first = sequenceParameterSets.first else { throw Malformed("sequence parameter set is missing", at: 0) }
        for set in videoParameterSets + sequenceParameterSets + pictureParameterSets where set.count > 0xffff {
            throw Malformed("parameter set is longer than 65,535 bytes", at: 0xffff)
        }
        let set = try HEVCSequenceParameterSet(first.rawSpan)
        profile = set.profile
        minimumSpatialSegmentation = 0
        parallelism = 0
        chromaFormat = set.chromaFormat
        lumaBitDepth = set.lumaBitDepth
        chromaBitDepth = set.chromaBitDepth
        averageFrameRate = 0
        constantFrameRate = 0
        temporalLayers = set.temporalLayers
        isTemporallyNested = set.isTemporallyNested
        lengthSize = 4
        arrays = [
            UnitArray(isComplete: true, type: 32, units: videoParameterSets),
            UnitArray(isComplete: true, type: 33, units: sequenceParameterSets),
            UnitArray(isComplete: true, type: 34, units: pictureParameterSets),
        ]
    }

    /// The content of the box.
    package var bytes: [UInt8] {
        var out: [UInt8] = [1, profile.space << 6 | (profile.isHighTier ? 0x20 : 0) | profile.number & 0x1f]
        out.append(bigEndian: profile.compatibility)
        out.append(bigEndian: UInt16(truncatingIfNeeded: profile.constraints >> 32))
        out.append(bigEndian: UInt32(truncatingIfNeeded: profile.constraints))
        out.append(profile.level)
        out.append(bigEndian: 0xf000 | minimumSpatialSegmentation & 0xfff)
        out += [0xfc | parallelism & 3, 0xfc | chromaFormat & 3]
        out += [0xf8 | (lumaBitDepth &- 8) & 7, 0xf8 | (chromaBitDepth &- 8) & 7]
        out.append(bigEndian: averageFrameRate)
        let nesting: UInt8 = isTemporallyNested ? 4 : 0
        out.append(constantFrameRate << 6 | temporalLayers << 3 & 0x38 | nesting | UInt8(lengthSize - 1))
        out.append(UInt8(truncatingIfNeeded: arrays.count))
        for array in arrays {
            out.append((array.isComplete ? 0x80 : 0) | array.type & 0x3f)
            out.append(bigEndian: UInt16(truncatingIfNeeded: array.units.count))
            for unit in array.units {
                out.append(bigEndian: UInt16(truncatingIfNeeded: unit.count))
                out += unit
            }
        }
        return out
    }

    /// The sequence parameter sets, whole NAL units.
    package var sequenceParameterSets: [[UInt8]] { arrays.filter { $0.type == 33 }.flatMap(\.units) }

    /// The codec string (ISO/IEC 14496-15 annex E), such as `hvc1.1.6.L93.B0`, for the sample entry type `hvc1` or `hev1`.
    package func codecString(format: String = "hvc1") -> String { "\(format).\(profile.codecSuffix)" }

    /// All parameter sets as a byte stream, each after 00 00 00 01; SEI messages are left out.
    package var byteStream: [UInt8] { ByteStreamUnits.join(arrays.filter { (32...34).contains($0.type) }.flatMap(\.units)) }
}
