// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Determines the length of a slice header, which encryption leaves clear (ISO/IEC 23001-7 §9.5.2.2).
///
/// It uses the parameter sets of the decoder configuration, and in-band ones.
package struct SliceHeaderReader: Sendable {
    private var avc: AVCSliceSyntax
    private var hevc: HEVCSliceSyntax
    /// The coding.
    package let codec: VideoCodec

    /// Bytes of a slice that are looked at, at most; entry points of H.265 are the longest part of a header.
    private static let headerLimit = 1 << 14

    /// - Parameters:
    ///   - codec: the coding.
    ///   - parameterSets: whole NAL units; other unit types are ignored.
    /// - Throws: if a parameter set is damaged, or uses unsupported features.
    package init(_ codec: VideoCodec, parameterSets: [[UInt8]]) throws(Malformed) {
        self.codec = codec
        avc = AVCSliceSyntax()
        hevc = HEVCSliceSyntax()
        for unit in parameterSets where !unit.isEmpty { try read(parameterSet: unit.rawSpan) }
    }

    /// Takes a parameter set that comes with a sample.
    ///
    /// - Parameter unit: a whole NAL unit; one of another type is passed over.
    /// - Throws: if it is damaged, or uses unsupported features.
    package mutating func read(parameterSet unit: RawSpan) throws(Malformed) {
        let type = NALUnitType(codec, header: unit.u8(at: 0))
        guard type.isSequenceParameterSet || type.isPictureParameterSet else { return }
        var bits = try ParameterBits(unit)
        _ = try bits.bits(8 * codec.unitHeaderLength, "NAL unit header")
        switch (codec, type.isSequenceParameterSet) {
        case (.h264, true): try avc.readSequence(&bits)
        case (.h264, false): try avc.readPicture(&bits)
        case (.h265, true): try hevc.readSequence(&bits)
        case (.h265, false): try hevc.readPicture(&bits)
        }
    }

    /// Bytes of a slice up to the end of its header, the NAL unit header and emulation prevention bytes among them.
    ///
    /// - Parameter unit: a whole NAL unit that is a slice.
    /// - Returns: no more than the unit has.
    /// - Throws: if the header is damaged, or its parameter sets are not known.
    package func headerLength(of unit: RawSpan) throws(Malformed) -> Int {
        guard unit.byteCount > codec.unitHeaderLength else { return unit.byteCount }
        let start = unit.extracting(0..<min(unit.byteCount, Self.headerLimit))
        var bits = try ParameterBits(start.extracting(0..<min(start.byteCount, 256)))
        let first = UInt8(try bits.bits(8, "NAL unit header"))
        do throws(Malformed) {
            try read(first, &bits)
        } catch {
            guard start.byteCount > 256 else { throw error }
            bits = try ParameterBits(start)
            _ = try bits.bits(8, "NAL unit header")
            try read(first, &bits)
        }
        return Self.escapedLength((bits.position + 7) / 8, in: start)
    }

    private func read(_ first: UInt8, _ bits: inout ParameterBits) throws(Malformed) {
        switch codec {
        case .h264: try avc.readHeader(&bits, first)
        case .h265: try hevc.readHeader(&bits, first)
        }
    }

    /// Number of bytes in a unit that contain its first `count` bytes without emulation prevention.
    private static func escapedLength(_ count: Int, in unit: RawSpan) -> Int {
        var remaining = count
        var zeros = 0
        var at = 0
        while remaining > 0, at < unit.byteCount {
            let byte = unit.u8(at: at)
            at += 1
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            remaining -= 1
        }
        return at
    }
}
