// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
package import CarrelMP4
import CarrelVideo

/// Checks a key by its decrypted samples, if the coding allows it: lengths of NAL units, starts and ends of slices, sync words of
/// MP3, AC-3, E-AC-3, FLAC and VP9, first elements of AAC, boxes of WebVTT cues.
///
/// Only bytes that were encrypted are checked. The output of a wrong key may pass by chance, and encoders write unusual streams:
/// so samples are counted, and the key is reported as wrong if more samples are bad than with any right key. Most encoders leave
/// slice headers clear: then the ends of slices (``SliceEnds``) and the rule of emulation prevention decide, which random bytes
/// break every 8 MiB.
package struct ClearSampleCheck: Sendable {
    private enum Coding: Sendable {
        case picture(VideoCodec, lengthSize: Int, allowsAnyOrder: Bool)
        case sync(mask: UInt32, value: UInt32)
        /// The first element of every block.
        case blocks(element: UInt8)
        /// The boxes of WebVTT cues (ISO/IEC 14496-30 §7.5).
        case cues
        case unknown

        var isPicture: Bool { if case .picture = self { true } else { false } }

        /// The bits of evidence of one good sample, at least.
        var goodBits: Int {
            switch self {
            case .picture: 2
            case .sync(let mask, _): min(20, mask.nonzeroBitCount)
            case .blocks: 4
            case .cues: 20
            case .unknown: 0
            }
        }
    }

    private enum Finding {
        case good, unknown
        case bad(String)
        /// No right key has one.
        case impossible(String)
    }

    private let coding: Coding
    private var pictureParameterSets: Set<Int> = []
    /// Samples still to look at.
    private var samplesLeft = 0
    private var good = 0
    private var bad = 0
    private var ends = SliceEnds()
    /// Encrypted bytes in NAL units still to look at, and how often they break the rule of emulation prevention.
    private var scanLeft = 0
    private var violations = 0

    /// Samples that are looked at for each key.
    private static let limit = 32
    /// Bad samples that a right key may have.
    private static let tolerance = 2
    /// Encrypted bytes that are looked through.
    private static let scanLimit = 32 << 20

    /// Whether the samples since the last restart have shown the key to be right.
    package var isVerified: Bool {
        bad <= Self.tolerance && good * coding.goodBits >= KeyEvidence.certainty || ends.isVerified
    }

    /// - Parameter entry: the description of the samples.
    package init(_ entry: SampleEntry) {
        var sets: [[UInt8]] = []
        coding = Self.coding(entry, &sets)
        if case .picture(let codec, _, _) = coding {
            for set in sets {
                if let id = SliceStart.id(ofPictureParameterSet: set.rawSpan, codec: codec) { pictureParameterSets.insert(id) }
            }
            scanLeft = Self.scanLimit
        }
        restart()
    }

    private static func coding(_ entry: SampleEntry, _ sets: inout [[UInt8]]) -> Coding {
        switch entry.format {
        case "avc1", "avc3":
            guard let record = try? AVCDecoderConfigurationRecord(entry.configuration.rawSpan) else { return .unknown }
            sets = record.pictureParameterSets
            return .picture(.h264, lengthSize: record.lengthSize, allowsAnyOrder: [66, 88].contains(record.profile))
        case "hvc1", "hev1":
            guard let record = try? HEVCDecoderConfigurationRecord(entry.configuration.rawSpan) else { return .unknown }
            sets = record.arrays.flatMap(\.units)
            return .picture(.h265, lengthSize: record.lengthSize, allowsAnyOrder: false)
        case "ac-3", "ec-3": return .sync(mask: 0xffff_0000, value: 0x0b77_0000)
        case "fLaC": return .sync(mask: 0xfffe_0000, value: 0xfff8_0000)
        // the frame marker of the uncompressed header
        case "vp08", "vp09": return entry.format == "vp09" ? .sync(mask: 0xc000_0000, value: 0x8000_0000) : .unknown
        case "wvtt": return .cues
        default: break
        }
        switch entry.codec {
        case .mp3: return .sync(mask: 0xffe0_0000, value: 0xffe0_0000)
        case .other("ac-3"), .other("ec-3"): return .sync(mask: 0xffff_0000, value: 0x0b77_0000)
        case .aac(let config):
            // one channel, and three or more, begin with a single element, two with a pair (ISO/IEC 14496-3 table 1.19)
            guard [1, 2, 3, 4].contains(config.objectType), (1...7).contains(config.channelConfiguration) else { return .unknown }
            return .blocks(element: config.channelConfiguration == 2 ? 1 : 0)
        default: return .unknown
        }
    }

    /// Resets the counts for another key.
    package mutating func restart() {
        if case .unknown = coding { samplesLeft = 0 } else { samplesLeft = Self.limit }
        good = 0
        bad = 0
        ends = SliceEnds()
    }

    /// Checks a decrypted sample.
    ///
    /// - Parameters:
    ///   - sample: the whole sample.
    ///   - parameters: how it was encrypted.
    /// - Returns: the evidence that the key is wrong, as a lower-case phrase; nil if there is none.
    @inline(__always)
    package mutating func fault(of sample: RawSpan, _ parameters: SampleEncryption) -> String? {
        guard samplesLeft > 0 || scanLeft > 0 || looksAtEnds else { return nil }
        return (samplesLeft > 0 ? look(sample, parameters) : nil) ?? (looksAtEnds ? lookAtEnds(sample, parameters) : nil)
            ?? (scanLeft > 0 ? scan(sample, parameters) : nil)
    }

    private var looksAtEnds: Bool { coding.isPicture && ends.isOpen }

    private mutating func lookAtEnds(_ sample: RawSpan, _ parameters: SampleEncryption) -> String? {
        guard case .picture(let codec, let lengthSize, _) = coding else { return nil }
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        while let range = try? units.next() {
            guard !range.isEmpty, parameters.encrypts(range.upperBound - 1, of: sample.byteCount) else { continue }
            let unit = sample.extracting(range)
            let type = NALUnitType(codec, header: unit.u8(at: 0))
            if Self.isSlice(type, unit) { ends.add(unit) }
        }
        return ends.isWrong ? "slices end as random bytes do" : nil
    }

    /// Scans the encrypted parts, each within one NAL unit.
    private mutating func scan(_ sample: RawSpan, _ parameters: SampleEncryption) -> String? {
        guard case .picture(_, let lengthSize, _) = coding, parameters.isProtected, var part = parameters.subsamples.first else {
            return nil
        }
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        var number = 0
        var start = part.clear
        while let unit = try? units.next() {
            while start + part.protected <= unit.upperBound {
                let end = start + part.protected
                if start >= unit.lowerBound { count(sample.extracting(start..<end), parameters.pattern) }
                number += 1
                guard number < parameters.subsamples.count else { break }
                part = parameters.subsamples[number]
                start = end + part.clear
            }
            guard number < parameters.subsamples.count else { break }
        }
        return violations > 1 ? "slices hold what emulation prevention keeps out" : nil
    }

    private mutating func count(_ protected: RawSpan, _ pattern: BlockPattern) {
        guard !pattern.isWhole else {
            scanLeft -= protected.byteCount
            violations += EmulationPrevention.violations(in: protected)
            return
        }
        for start in stride(from: 0, to: protected.byteCount - 15, by: (pattern.crypt + pattern.skip) * 16) {
            let run = protected.extracting(start..<min(start + pattern.crypt * 16, protected.byteCount))
            scanLeft -= run.byteCount
            violations += EmulationPrevention.violations(in: run)
        }
    }

    private mutating func look(_ sample: RawSpan, _ parameters: SampleEncryption) -> String? {
        samplesLeft -= 1
        let finding: Finding =
            switch coding {
            case .picture(let codec, let lengthSize, let allowsAnyOrder):
                pictures(sample, parameters, codec, lengthSize, allowsAnyOrder)
            case .sync(let mask, let value): Self.sync(sample, parameters, mask, value)
            case .blocks(let element): Self.block(sample, parameters, element)
            case .cues: Self.cues(sample, parameters)
            case .unknown: .unknown
            }
        switch finding {
        case .impossible(let what): return what
        case .unknown: return nil
        case .good: good += 1
        case .bad(let what):
            bad += 1
            if bad > Self.tolerance, bad > good { return what }
        }
        return nil
    }

    private mutating func pictures(
        _ sample: RawSpan,
        _ parameters: SampleEncryption,
        _ codec: VideoCodec,
        _ lengthSize: Int,
        _ allowsAnyOrder: Bool
    ) -> Finding {
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        var finding = Finding.unknown
        var isFirst = true
        var at = 0
        while true {
            let range: Range<Int>
            do throws(Malformed) {
                guard let next = try units.next() else { return finding }
                range = next
            } catch {
                // a clear length is damaged, whatever the key
                let protected = parameters.protects(at..<min(at + lengthSize, sample.byteCount), of: sample.byteCount)
                return protected ? .impossible(error.what) : .unknown
            }
            at = range.upperBound
            guard !range.isEmpty else { continue }
            let unit = sample.extracting(range)
            let type = NALUnitType(codec, header: unit.u8(at: 0))
            if type.isPictureParameterSet, let id = SliceStart.id(ofPictureParameterSet: unit, codec: codec) {
                pictureParameterSets.insert(id)
            }
            guard Self.isSlice(type, unit) else { continue }
            defer { isFirst = false }
            let start = range.lowerBound + codec.unitHeaderLength
            guard parameters.protects(start..<min(start + 1, sample.byteCount), of: sample.byteCount) else { continue }
            do throws(Malformed) {
                let slice = try SliceStart(unit, codec: codec)
                guard pictureParameterSets.isEmpty || pictureParameterSets.contains(slice.pictureParameterSet) else {
                    return .bad("slice has the parameter set \(slice.pictureParameterSet), which is not there")
                }
                guard slice.isFirst || !isFirst || allowsAnyOrder else { return .bad("picture begins with a later slice") }
            } catch {
                return .bad(error.what)
            }
            finding = .good
        }
    }

    /// Whether a unit is a slice of the only layer.
    private static func isSlice(_ type: NALUnitType, _ unit: RawSpan) -> Bool {
        switch type.codec {
        case .h264: return type.number == 1 || type.number == 2 || type.number == 5
        case .h265:
            guard unit.byteCount >= 2, unit.u8(at: 0) & 1 == 0, unit.u8(at: 1) & 0xf8 == 0 else { return false }
            return type.number < 10 || (16...21).contains(type.number)
        }
    }

    private static func sync(_ sample: RawSpan, _ parameters: SampleEncryption, _ mask: UInt32, _ value: UInt32) -> Finding {
        guard sample.byteCount >= 4, parameters.protects(0..<2, of: sample.byteCount) else { return .unknown }
        return sample.u32(at: 0) & mask == value ? .good : .bad("frame begins without its sync word")
    }

    /// A sample of cues is boxes one after the other.
    private static func cues(_ sample: RawSpan, _ parameters: SampleEncryption) -> Finding {
        guard parameters.protects(0..<8, of: sample.byteCount) else { return .unknown }
        var at = 0
        while at < sample.byteCount {
            guard sample.byteCount - at >= 8, sample.u32(at: at) >= 8, Int(sample.u32(at: at)) <= sample.byteCount - at else {
                return .bad("sample of cues is not made of boxes")
            }
            at += Int(sample.u32(at: at))
        }
        return .good
    }

    /// Checks that a raw data block begins with an element whose information has a reserved bit (ISO/IEC 14496-3 §4.4.2.1).
    private static func block(_ sample: RawSpan, _ parameters: SampleEncryption, _ element: UInt8) -> Finding {
        guard sample.byteCount >= 4, parameters.protects(0..<2, of: sample.byteCount) else { return .unknown }
        let bits = sample.u32(at: 0)
        let id = UInt8(bits >> 29)
        // a coupling, data, program or filling element may come first
        if id == 2 || id == 4 || id == 5 || id == 6 { return .unknown }
        guard id == element else { return .bad("block of AAC begins with another element") }
        let reserved: UInt32 = id == 1 ? (bits >> 24 & 1 == 1 ? 23 : 15) : 16
        return bits >> reserved & 1 == 0 ? .good : .bad("block of AAC has a reserved bit set")
    }
}

extension SampleEncryption {
    /// Whether any byte of a range was encrypted. Of a pattern, and of a final partial block in CBC, only the first block is
    /// considered.
    fileprivate func protects(_ range: Range<Int>, of size: Int) -> Bool {
        guard isProtected else { return false }
        guard !subsamples.isEmpty else { return range.lowerBound < size - size % 16 }
        var at = 0
        for part in subsamples {
            at += part.clear
            let whole = part.protected - part.protected % 16
            if range.lowerBound < at + whole, at < range.upperBound { return true }
            at += part.protected
            if at >= range.upperBound { return false }
        }
        return false
    }

    /// Whether a byte was encrypted under every scheme; a final partial block, which CBC leaves clear, was not.
    fileprivate func encrypts(_ offset: Int, of size: Int) -> Bool {
        guard isProtected else { return false }
        func isInside(_ position: Int, _ length: Int) -> Bool {
            guard position >= 0, position < length - length % 16 else { return false }
            return pattern.isWhole || position / 16 % (pattern.crypt + pattern.skip) < pattern.crypt
        }
        guard !subsamples.isEmpty else { return isInside(offset, size) }
        var at = 0
        for part in subsamples {
            at += part.clear
            if offset < at + part.protected { return isInside(offset - at, part.protected) }
            at += part.protected
        }
        return false
    }
}
