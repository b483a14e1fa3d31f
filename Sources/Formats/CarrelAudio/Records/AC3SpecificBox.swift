// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The content of `dac3`, which describes an AC-3 track (ETSI TS 102 366 §F.4).
package struct AC3SpecificBox: Sendable, Hashable {
    /// `fscod`: 0 is 48 kHz, 1 is 44.1 kHz, 2 is 32 kHz.
    package var rateCode: UInt8
    /// `bsid`.
    package var identification: UInt8
    /// `bsmod`.
    package var mode: UInt8
    /// `acmod`.
    package var channelMode: UInt8
    /// Whether there is a low-frequency channel.
    package var hasLowFrequency: Bool
    /// `bit_rate_code`.
    package var bitRateCode: UInt8

    /// The codec string (RFC 6381 §3.3).
    package static let codecString = "ac-3"

    /// Describes a stream by one of its frames.
    package init(_ frame: AC3SyncFrame) {
        rateCode = frame.rateCode
        identification = frame.identification
        mode = frame.mode
        channelMode = frame.channelMode
        hasLowFrequency = frame.hasLowFrequency
        bitRateCode = frame.bitRateCode
    }

    /// Reads the content of the box.
    ///
    /// - Parameter bytes: the content; only the first three bytes are used.
    /// - Throws: if it is truncated.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var bits = BitCursor(bytes)
        rateCode = UInt8(try bits.bits(2, "sample rate"))
        identification = UInt8(try bits.bits(5, "identification"))
        mode = UInt8(try bits.bits(3, "mode"))
        channelMode = UInt8(try bits.bits(3, "channels"))
        hasLowFrequency = try bits.flag("low-frequency channel")
        bitRateCode = UInt8(try bits.bits(5, "bit rate"))
        _ = try bits.bits(5, "reserved bits")
    }

    /// The three bytes of the content.
    package var bytes: [UInt8] {
        let channels = UInt32(channelMode & 7) << 11 | (hasLowFrequency ? 1 << 10 : 0)
        let word =
            UInt32(rateCode & 3) << 22 | UInt32(identification & 31) << 17 | UInt32(mode & 7) << 14 | channels
            | UInt32(bitRateCode & 31) << 5
        return [UInt8(word >> 16), UInt8(word >> 8 & 255), UInt8(word & 255)]
    }
}
