// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header of a metadata block of a FLAC file (RFC 9639 §8.1).
package struct FLACBlock {
    /// The kinds of blocks that are read here.
    package enum Kind: UInt8 { case streamInformation = 0, comments = 4, picture = 6 }

    /// The kind; nil for other kinds.
    package let kind: Kind?
    package let isLast: Bool
    /// Bytes after the header.
    package let length: Int

    package static let headerLength = 4

    /// - Parameter header: the header; the initializer returns nil for fewer than four bytes.
    package init?(_ header: RawSpan) {
        guard header.byteCount >= Self.headerLength else { return nil }
        let word = header.u32(at: 0)
        isLast = word >> 31 == 1
        kind = Kind(rawValue: UInt8(word >> 24 & 0x7f))
        length = Int(word & 0xff_ffff)
    }

    /// Returns the duration of the audio (RFC 9639 §8.2).
    ///
    /// - Parameter information: the stream information block, without its header.
    /// - Returns: seconds; nil if unknown.
    package static func duration(_ information: RawSpan) -> Double? {
        guard let rate = sampleRate(information) else { return nil }
        let samples = information.u64(at: 10) & 0xf_ffff_ffff
        return samples == 0 ? nil : Double(samples) / Double(rate)
    }

    static func sampleRate(_ information: RawSpan) -> Int? {
        guard information.byteCount >= 18 else { return nil }
        let rate = Int(information.u64(at: 10) >> 44)
        return rate == 0 ? nil : rate
    }
}
