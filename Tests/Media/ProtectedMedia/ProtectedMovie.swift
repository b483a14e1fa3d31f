// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
import CarrelTesting

/// Makes small protected files of one track, box by box, by options that no single program has.
package struct ProtectedMovie {
    /// How samples are encrypted: the track's defaults, or a group.
    package struct Parameters {
        /// The id of the key is 16 times this byte, the key 16 times its complement.
        package var key: UInt8
        package var isProtected: Bool
        package var ivSize: Int
        package var constantIV: [UInt8]
        package var crypt: UInt8
        package var skip: UInt8
        /// Bytes of the vectors that clear samples of selective encryption have.
        package var clearVectorSize: Int

        package init(
            key: UInt8 = 1,
            isProtected: Bool = true,
            ivSize: Int = 8,
            constantIV: [UInt8] = [],
            crypt: UInt8 = 0,
            skip: UInt8 = 0,
            clearVectorSize: Int = 0
        ) {
            self.key = key
            self.isProtected = isProtected
            self.ivSize = ivSize
            self.constantIV = constantIV
            self.crypt = crypt
            self.skip = skip
            self.clearVectorSize = clearVectorSize
        }

        package var keyID: [UInt8] { [UInt8](repeating: key, count: 16) }
        package var keyBytes: [UInt8] { [UInt8](repeating: ~key, count: 16) }
    }

    package struct Sample {
        package var clear: [UInt8]
        package var parts: [(clear: Int, protected: Int)] = []
        /// 0 is none.
        package var group = 0
        /// Whether it has the clear description, which comes second.
        package var isClear = false

        package init(clear: [UInt8]) { self.clear = clear }
    }

    /// The location of vectors and subsamples.
    package enum Information: Sendable { case senc, piff, auxiliary, auxiliaryOfEach, nowhere }

    package var scheme = "cenc"
    package var version: UInt8 = 1
    package var defaults = Parameters()
    package var groups: [Parameters] = []
    package var groupVersion: UInt8 = 1
    /// The default group of `sgpd` version 2.
    package var defaultGroup = 0
    package var information = Information.senc
    /// The values of PIFF's sample box that replace the track's defaults.
    package var replacement: Parameters?
    package var samples: [Sample] = []
    /// Samples of a chunk, or of a run.
    package var perPart = 3
    /// The order of the chunks in the file.
    package var order: [Int]?
    package var hasLongBoxes = false
    /// The last byte of the 16-byte vectors whose low half wraps.
    package var lastVectorByte: UInt8 = 255

    // fragments
    package var partsPerFragment = 2
    package var countsFromMovie = false
    package var hasTime = true
    /// Whether groups are described in the fragments.
    package var describesInFragments = true
    /// Whether each run has a `traf` of its own.
    package var splitsTracks = false
    /// Whether vectors lie in the media data.
    package var informationInMedia = false

    package init() {}

    /// Samples of all lengths around a block, by a seed.
    package static func samples(_ seed: UInt64, hasParts: Bool, _ sizes: [Int] = [0, 1, 15, 16, 17, 33, 160, 161, 500, 1003])
        -> [Sample]
    {
        var random = SplitMix(seed: seed)
        return sizes.map { size in
            var sample = Sample(clear: (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) })
            var left = size
            while hasParts, left > 0 {
                let clear = min(left, Int.random(in: 0...40, using: &random))
                left -= clear
                var protected = Int.random(in: 0...(left / 16), using: &random) * 16
                if left - protected < 16, Bool.random(using: &random) { protected = left - left % 16 }
                left -= protected
                sample.parts.append((clear, protected))
                if sample.parts.count == 5 {
                    sample.parts.append((left, 0))
                    left = 0
                }
            }
            if hasParts, size == 0 { sample.parts = [(0, 0)] }
            return sample
        }
    }

    package func parameters(of sample: Sample) -> Parameters? {
        if sample.isClear { return nil }
        if sample.group > 0 { return groups[sample.group - 1] }
        if defaultGroup > 0 { return groups[defaultGroup - 1] }
        return replacement ?? defaults
    }

    package func iv(_ index: Int, _ parameters: Parameters) -> [UInt8] {
        if parameters.ivSize == 0 { return parameters.constantIV }
        // the low half wraps within a sample
        if parameters.ivSize == 16, index % 2 == 0 {
            return [UInt8](repeating: UInt8(index), count: 8) + [UInt8](repeating: 255, count: 7) + [lastVectorByte]
        }
        return (0..<parameters.ivSize).map { UInt8(truncatingIfNeeded: index * 7 + $0 + 1) }
    }

    /// The bytes of a sample in the file.
    package func encrypted(_ index: Int) throws -> [UInt8] {
        let sample = samples[index]
        guard let parameters = parameters(of: sample), parameters.isProtected else { return sample.clear }
        let cipher = ReferenceCipher(
            scheme: scheme == "piff" ? "cenc" : scheme,
            key: parameters.keyBytes,
            crypt: Int(parameters.crypt),
            skip: Int(parameters.skip)
        )
        return try cipher.encrypt(sample.clear, parts: sample.parts, iv: iv(index, parameters))
    }

    package var hasParts: Bool { samples.contains { !$0.parts.isEmpty } }

    /// The entry of `senc` for a sample.
    package func entry(_ index: Int) -> [UInt8] {
        let sample = samples[index]
        let parameters = parameters(of: sample)
        let isProtected = parameters?.isProtected ?? false
        var writer = BoxWriter()
        if let parameters, isProtected, parameters.ivSize > 0 { writer.append(iv(index, parameters)) }
        if let parameters, !isProtected { writer.zeros(parameters.clearVectorSize) }
        let isAuxiliary = information == .auxiliary || information == .auxiliaryOfEach
        if hasParts, isProtected || !isAuxiliary {
            let parts = isProtected ? sample.parts : []
            writer.u16(UInt16(parts.count))
            for part in parts {
                writer.u16(UInt16(part.clear))
                writer.u32(UInt32(part.protected))
            }
        }
        return writer.bytes
    }

    // MARK: - Boxes

    private func write(_ parameters: Parameters, to writer: inout BoxWriter) {
        writer.u8(parameters.isProtected ? 1 : 0)
        writer.u8(UInt8(parameters.isProtected ? parameters.ivSize : parameters.clearVectorSize))
        writer.append(parameters.keyID)
        guard parameters.isProtected, parameters.ivSize == 0 else { return }
        writer.u8(UInt8(parameters.constantIV.count))
        writer.append(parameters.constantIV)
    }

    private func writeProtection(to writer: inout BoxWriter) {
        writer.box("sinf") { writer in
            writer.box("frma") { $0.fourCC("alac") }
            writer.fullBox("schm") { writer in
                writer.append(Array(scheme.utf8))
                writer.u32(0x1_0000)
            }
            writer.box("schi") { writer in
                guard scheme != "piff" else {
                    writer.box("uuid") { writer in
                        writer.append(Hex.decode("8974dbce7be74c5184f97148f9882554") ?? [])
                        writer.u32(0)
                        writer.u24(1)
                        writer.u8(UInt8(defaults.ivSize))
                        writer.append(defaults.keyID)
                    }
                    return
                }
                writer.fullBox("tenc", version: version) { writer in
                    writer.u8(0)
                    writer.u8(defaults.crypt << 4 | defaults.skip)
                    write(defaults, to: &writer)
                }
            }
        }
    }

    private func writeDescriptions(to writer: inout BoxWriter) {
        writer.fullBox("stsd") { writer in
            let hasClear = samples.contains(where: \.isClear)
            writer.u32(hasClear ? 2 : 1)
            for type in hasClear ? ["enca", "alac"] as [FourCC] : ["enca"] {
                writer.box(type) { writer in
                    writer.zeros(6)
                    writer.u16(1)
                    writer.zeros(8)
                    writer.u16(2)
                    writer.u16(16)
                    writer.u32(0)
                    writer.u32(44_100 << 16)
                    if type == "enca" { writeProtection(to: &writer) }
                }
            }
        }
    }

    package func writeGroups(to writer: inout BoxWriter) {
        guard !groups.isEmpty else { return }
        writer.fullBox("sgpd", version: groupVersion) { writer in
            writer.fourCC("seig")
            // entries that say their length themselves
            if groupVersion >= 1 { writer.u32(0) }
            if groupVersion >= 2 { writer.u32(UInt32(defaultGroup)) }
            writer.u32(UInt32(groups.count))
            for group in groups {
                var entry = BoxWriter()
                entry.u8(0)
                entry.u8(group.crypt << 4 | group.skip)
                write(group, to: &entry)
                if groupVersion >= 1 { writer.u32(UInt32(entry.bytes.count)) }
                writer.append(entry.bytes)
            }
        }
    }

    /// `sbgp`: a run for each sample; samples at the end without a group are left out.
    package func writeRuns(of numbers: Range<Int>, base: Int, to writer: inout BoxWriter) {
        let named = numbers.prefix { number in samples[number..<numbers.upperBound].contains { $0.group > 0 } }
        guard !named.isEmpty else { return }
        writer.fullBox("sbgp", version: UInt8(named.count % 2)) { writer in
            writer.fourCC("seig")
            if named.count % 2 == 1 { writer.u32(0) }
            writer.u32(UInt32(named.count))
            for number in named {
                writer.u32(1)
                writer.u32(samples[number].group == 0 ? 0 : UInt32(base + samples[number].group))
            }
        }
    }

    /// Writes the location of the vectors of some samples; `offsets` locate their parts in the file or the fragment.
    package func writeInformation(of numbers: Range<Int>, offsets: [Int], to writer: inout BoxWriter) {
        let entries = numbers.map(entry)
        switch information {
        case .nowhere: return
        case .senc:
            writer.fullBox("senc", flags: hasParts ? 2 : 0) { writer in
                writer.u32(UInt32(entries.count))
                for entry in entries { writer.append(entry) }
            }
        case .piff:
            writer.box("uuid") { writer in
                writer.append(Hex.decode("a2394f525a9b4f14a2446c427c648df4") ?? [])
                writer.u32((hasParts ? 2 : 0) | (replacement == nil ? 0 : 1))
                if let replacement {
                    writer.u24(replacement.isProtected ? 1 : 0)
                    writer.u8(UInt8(replacement.ivSize))
                    writer.append(replacement.keyID)
                }
                writer.u32(UInt32(entries.count))
                for entry in entries { writer.append(entry) }
            }
        case .auxiliary, .auxiliaryOfEach:
            let sizes = entries.map { UInt8($0.count) }
            let isConstant = Set(sizes).count == 1 && sizes[0] > 0
            let flags: UInt32 = information == .auxiliary ? 0 : 1
            writer.fullBox("saiz", flags: flags) { writer in
                if flags == 1 {
                    writer.append(Array(scheme.utf8))
                    writer.u32(0)
                }
                writer.u8(isConstant ? sizes[0] : 0)
                writer.u32(UInt32(sizes.count))
                if !isConstant { writer.append(sizes) }
            }
            writer.fullBox("saio", version: UInt8(flags), flags: flags) { writer in
                if flags == 1 {
                    writer.append(Array(scheme.utf8))
                    writer.u32(0)
                }
                writer.u32(UInt32(offsets.count))
                for offset in offsets { if flags == 1 { writer.u64(UInt64(offset)) } else { writer.u32(UInt32(offset)) } }
            }
        }
    }

    // MARK: - Movies

    package func writeMovie(to writer: inout BoxWriter, isFragmented: Bool, tables: (inout BoxWriter) -> Void) {
        writer.box("moov") { writer in
            writer.fullBox("mvhd") { writer in
                writer.zeros(8)
                writer.u32(1000)
                writer.zeros(84)
            }
            writer.fullBox("pssh", version: 1) { writer in
                writer.append(ProtectionSystemHeader.common)
                writer.u32(1)
                writer.append(defaults.keyID)
                writer.u32(0)
            }
            writer.box("trak") { writer in
                writer.fullBox("tkhd") { writer in
                    writer.zeros(8)
                    writer.u32(1)
                    writer.zeros(68)
                }
                writer.box("mdia") { writer in
                    writer.fullBox("mdhd") { writer in
                        writer.zeros(8)
                        writer.u32(44_100)
                        writer.u32(0)
                        writer.u32(0x55c4_0000)
                    }
                    writer.fullBox("hdlr") { writer in
                        writer.u32(0)
                        writer.fourCC("soun")
                        writer.zeros(13)
                    }
                    writer.box("minf") { writer in
                        writer.box("stbl") { writer in
                            writeDescriptions(to: &writer)
                            tables(&writer)
                        }
                    }
                }
            }
            guard isFragmented else { return }
            writer.box("mvex") { writer in
                writer.fullBox("trex") { writer in
                    for value: UInt32 in [1, 1, 1024, 0, 0] { writer.u32(value) }
                }
            }
        }
    }

    /// The keys of all parameters.
    package var keyed: [Parameters] { [defaults] + groups + (replacement.map { [$0] } ?? []) }

    /// The clear samples, concatenated.
    package var clear: [UInt8] { samples.flatMap(\.clear) }
}
