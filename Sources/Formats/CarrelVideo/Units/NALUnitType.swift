// SPDX-License-Identifier: Apache-2.0

/// The type of a NAL unit, by its codec's numbering (ISO/IEC 14496-10 table 7-1, 23008-2 table 7-1).
package struct NALUnitType: Sendable, Hashable {
    /// The codec of the type number.
    package let codec: VideoCodec
    /// `nal_unit_type`.
    package let number: UInt8

    /// Reads the type from the first byte of a unit's header.
    package init(_ codec: VideoCodec, header: UInt8) {
        self.codec = codec
        switch codec {
        case .h264: number = header & 0x1f
        case .h265: number = header >> 1 & 0x3f
        }
    }

    /// A unit that holds coded picture data (VCL).
    package var isPicture: Bool {
        switch codec {
        case .h264: (1...5).contains(number)
        case .h265: number < 32
        }
    }

    /// A slice of a picture at which decoding can start: IDR of H.264, and IDR, BLA and CRA of H.265.
    package var isRandomAccess: Bool {
        switch codec {
        case .h264: number == 5
        case .h265: (16...23).contains(number)
        }
    }

    /// A video, sequence or picture parameter set, or the extension of a sequence parameter set.
    package var isParameterSet: Bool {
        switch codec {
        case .h264: number == 7 || number == 8 || number == 13
        case .h265: (32...34).contains(number)
        }
    }

    /// A video parameter set of H.265.
    package var isVideoParameterSet: Bool { codec == .h265 && number == 32 }

    /// A sequence parameter set.
    package var isSequenceParameterSet: Bool { number == (codec == .h264 ? 7 : 33) }

    /// A picture parameter set.
    package var isPictureParameterSet: Bool { number == (codec == .h264 ? 8 : 34) }

    /// An access unit delimiter.
    package var isDelimiter: Bool { number == (codec == .h264 ? 9 : 35) }

    /// A unit that begins a new access unit when a picture came before it (ISO/IEC 14496-10 §7.4.1.2.3, 23008-2 §7.4.2.4.4).
    ///
    /// Type 14 of H.264 is left out: it also comes before each slice of a layered picture.
    package var opensAccessUnit: Bool {
        switch codec {
        case .h264: (6...9).contains(number) || (15...18).contains(number)
        case .h265: (32...35).contains(number) || number == 39 || (41...44).contains(number) || (48...55).contains(number)
        }
    }
}

extension VideoCodec {
    /// Bytes of a NAL unit's header.
    package var unitHeaderLength: Int { self == .h264 ? 1 : 2 }

    /// An access unit delimiter that allows every kind of slice, after its start code.
    package var delimiter: [UInt8] {
        switch self {
        case .h264: [0, 0, 0, 1, 0x09, 0xf0]
        case .h265: [0, 0, 0, 1, 0x46, 0x01, 0x50]
        }
    }
}
