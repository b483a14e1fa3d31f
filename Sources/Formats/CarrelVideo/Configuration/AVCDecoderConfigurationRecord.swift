// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The parameter sets of an H.264 track and the size of its NAL unit lengths: the content of `avcC` (ISO/IEC 14496-15 §5.3.3.1).
package struct AVCDecoderConfigurationRecord: Sendable, Hashable {
    /// `profile_idc` of the sequence parameter set.
    package var profile: UInt8
    /// The constraint flags after the profile.
    package var constraints: UInt8
    /// `level_idc`.
    package var level: UInt8
    /// Bytes of each NAL unit length: 1, 2 or 4.
    package var lengthSize: Int
    /// Whole NAL units.
    package var sequenceParameterSets: [[UInt8]]
    /// Whole NAL units.
    package var pictureParameterSets: [[UInt8]]
    /// Bytes after the picture parameter sets: chroma format, bit depths and extensions of high profiles.
    package var extensions: [UInt8]

    /// Reads the content of the box.
    ///
    /// - Parameter bytes: the record; at most 64 KiB after the picture parameter sets are kept.
    /// - Throws: if it is truncated, has another version, or names a length of three bytes.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        guard try cursor.u8("avcC version") == 1 else { throw Malformed("avcC version is not 1", at: 0) }
        profile = try cursor.u8("profile")
        constraints = try cursor.u8("constraint flags")
        level = try cursor.u8("level")
        lengthSize = Int(try cursor.u8("length size") & 3) + 1
        guard lengthSize != 3 else { throw Malformed("NAL unit lengths of 3 bytes are not allowed", at: 4) }
        sequenceParameterSets = try Self.units(Int(try cursor.u8("number of sequence parameter sets") & 31), &cursor)
        pictureParameterSets = try Self.units(Int(try cursor.u8("number of picture parameter sets")), &cursor)
        extensions = [UInt8](copying: try cursor.slice(min(cursor.remaining, 0xffff)))
    }

    /// Makes the record of a stream from its parameter sets, with lengths of four bytes.
    ///
    /// - Parameters:
    ///   - sequenceParameterSets: whole NAL units, 1 to 31 of them; the first decides profile and level.
    ///   - pictureParameterSets: whole NAL units, at most 255.
    /// - Throws: if the first sequence parameter set cannot be read, or there are too many.
    package init(sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]]) throws(Malformed) {
        guard let first = sequenceParameterSets.first else { throw Malformed("sequence parameter set is missing", at: 0) }
        guard sequenceParameterSets.count <= 31, pictureParameterSets.count <= 255 else {
            throw Malformed("there are too many parameter sets", at: 0)
        }
        for set in sequenceParameterSets + pictureParameterSets where set.count > 0xffff {
            throw Malformed("parameter set is longer than 65,535 bytes", at: 0xffff)
        }
        let set = try AVCSequenceParameterSet(first.rawSpan)
        profile = set.profile
        constraints = set.constraints
        level = set.level
        lengthSize = 4
        self.sequenceParameterSets = sequenceParameterSets
        self.pictureParameterSets = pictureParameterSets
        extensions = []
        if [100, 110, 122, 144, 244].contains(set.profile) {
            extensions = [0xfc | set.chromaFormat, 0xf8 | (set.lumaBitDepth - 8), 0xf8 | (set.chromaBitDepth - 8), 0]
        }
    }

    /// The content of the box.
    package var bytes: [UInt8] {
        var out: [UInt8] = [1, profile, constraints, level, 0xfc | UInt8(lengthSize - 1)]
        out.append(0xe0 | UInt8(sequenceParameterSets.count))
        for unit in sequenceParameterSets { Self.append(unit, to: &out) }
        out.append(UInt8(pictureParameterSets.count))
        for unit in pictureParameterSets { Self.append(unit, to: &out) }
        return out + extensions
    }

    /// The codec string of RFC 6381 §3.3, such as `avc1.64001f`, for the sample entry type `avc1` or `avc3`.
    package func codecString(format: String = "avc1") -> String {
        "\(format).\(Hex.encode([profile, constraints, level]))"
    }

    /// All parameter sets as a byte stream, each after 00 00 00 01.
    package var byteStream: [UInt8] { ByteStreamUnits.join(sequenceParameterSets + pictureParameterSets) }

    private static func units(_ count: Int, _ cursor: inout ByteCursor) throws(Malformed) -> [[UInt8]] {
        var units: [[UInt8]] = []
        for _ in 0..<count {
            let length = Int(try cursor.u16("parameter set length"))
            guard length > 0 else { throw Malformed("parameter set is empty", at: cursor.position) }
            units.append([UInt8](copying: try cursor.slice(length, "parameter set")))
        }
        return units
    }

    private static func append(_ unit: [UInt8], to out: inout [UInt8]) {
        out.append(bigEndian: UInt16(truncatingIfNeeded: unit.count))
        out += unit
    }
}
