// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The content of `dOps`, which describes an Opus track (Encapsulation of Opus in ISOBMFF §4.3.2, RFC 7845 §5.1).
package struct OpusSpecificBox: Sendable, Hashable {
    /// The codec string, which is the type of the sample entry.
    package static let codecString = "Opus"

    /// Channels, 1 to 255.
    package let channels: Int
    /// Samples at 48 kHz to drop at the start.
    package let preSkip: Int
    /// The input sample rate; 0 if unknown. The track itself runs at 48 kHz.
    package let inputSampleRate: Int
    /// Gain to apply, in 1/256 dB.
    package let outputGain: Int
    /// How streams map to channels: 0 is mono or stereo, 1 the channels of Vorbis.
    package let mappingFamily: UInt8
    /// Streams, coupled streams, and the stream of each channel; empty in family 0.
    package let mapping: [UInt8]

    /// Reads the content of the box.
    ///
    /// - Parameter bytes: the content; following bytes are ignored.
    /// - Throws: if it is truncated, has another version, or names no channel.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        guard try cursor.u8("dOps version") == 0 else { throw Malformed("dOps version is not 0", at: 0) }
        channels = Int(try cursor.u8("channels"))
        guard channels > 0 else { throw Malformed("number of channels is zero", at: 1) }
        preSkip = Int(try cursor.u16("pre-skip"))
        inputSampleRate = Int(try cursor.u32("input sample rate"))
        outputGain = Int(Int16(bitPattern: try cursor.u16("output gain")))
        mappingFamily = try cursor.u8("channel mapping family")
        mapping = mappingFamily == 0 ? [] : [UInt8](copying: try cursor.slice(2 + channels, "channel mapping"))
    }
}
