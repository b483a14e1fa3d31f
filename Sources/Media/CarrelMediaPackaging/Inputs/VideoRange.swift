// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelVideo

/// The dynamic range of pictures as playlists name it (`VIDEO-RANGE`, draft-pantos-hls-rfc8216bis §4.4.6.2).
enum VideoRange: String {
    case standard = "SDR"
    case perceptual = "PQ"
    case hybrid = "HLG"

    /// The range for transfer characteristics (ISO/IEC 23091-2 §8.2).
    ///
    /// 14 is undecided: streams for older players declare it, and signal HLG in an SEI message.
    init?(transfer: Int) {
        switch transfer {
        case 1, 6, 13, 15: self = .standard
        case 16: self = .perceptual
        case 18: self = .hybrid
        default: return nil
        }
    }

    /// Reads the range of a track from its description: from a `colr` box, otherwise from the sequence parameter sets; nil if it
    /// is not declared, or the sets differ.
    ///
    /// - Parameter entry: the description.
    init?(_ entry: SampleEntry) {
        if let transfer = Self.transfer(ofBoxesOf: entry) {
            self.init(transfer: transfer)
            return
        }
        let sets: [[UInt8]]
        let codec: VideoCodec
        switch entry.format {
        case "avc1", "avc3":
            codec = .h264
            sets = (try? AVCDecoderConfigurationRecord(entry.configuration.rawSpan).sequenceParameterSets) ?? []
        case "hvc1", "hev1":
            codec = .h265
            let record = try? HEVCDecoderConfigurationRecord(entry.configuration.rawSpan)
            sets = record?.arrays.flatMap(\.units).filter { ($0.first ?? 0) & 0x7e == 33 << 1 } ?? []
        default: return nil
        }
        let found = Set(sets.map { ColourDescription($0.rawSpan, codec)?.transfer })
        guard found.count == 1, let transfer = found.first ?? nil else { return nil }
        self.init(transfer: Int(transfer))
    }

    /// The transfer characteristics of a `colr` box (ISO/IEC 14496-12 §12.1.5); nil if there is no such box with numbers.
    private static func transfer(ofBoxesOf entry: SampleEntry) -> Int? {
        // the fields of a picture's entry come first
        guard entry.bytes.count > 86 else { return nil }
        var found: Int?
        MemoryBoxes.forEach(in: entry.bytes.rawSpan.extracting(86..<entry.bytes.count)) { type, content in
            guard found == nil, type == "colr", content.byteCount >= 10 else { return }
            let kind = FourCC(content.u32(at: 0))
            if kind == "nclx" || kind == "nclc" { found = Int(content.u16(at: 6)) }
        }
        return found
    }
}
