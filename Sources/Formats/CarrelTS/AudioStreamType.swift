// SPDX-License-Identifier: Apache-2.0

/// The audio type of a transport stream, as its program map names it (ISO/IEC 13818-1 table 2-34).
package enum AudioStreamType: UInt8, Sendable, Hashable, CaseIterable {
    /// ISO/IEC 11172-3 audio: MPEG-1 Layer III.
    case mpeg1 = 0x03
    /// ISO/IEC 13818-3 audio: MPEG-2 Layer III at half rates, and its 2.5 extension.
    case mpeg2 = 0x04
    /// ISO/IEC 13818-7 audio: AAC framed as ADTS.
    case adts = 0x0f
}
