// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
package import CarrelBytes
package import CarrelMP4
import CarrelVideo

/// Which bytes of a track's samples are encrypted (ISO/IEC 23001-7 §9.5).
package struct SampleLayout: Sendable {
    private enum Coding: Sendable {
        /// All of it.
        case whole
        /// Slice data; everything else stays clear.
        case slices(SliceHeaderReader, lengthSize: Int)
    }
    private var coding: Coding
    private let scheme: CommonEncryptionScheme

    /// - Parameters:
    ///   - entry: the track's description.
    ///   - scheme: the scheme.
    /// - Throws: `Malformed` if the decoder configuration is damaged; `unsupported` if the coding cannot be encrypted.
    package init(_ entry: SampleEntry, scheme: CommonEncryptionScheme) throws {
        self.scheme = scheme
        switch entry.format {
        case "avc1", "avc3":
            let record = try AVCDecoderConfigurationRecord(entry.configuration.rawSpan)
            let sets = record.sequenceParameterSets + record.pictureParameterSets
            coding = .slices(try SliceHeaderReader(.h264, parameterSets: sets), lengthSize: record.lengthSize)
        case "hvc1", "hev1":
            let record = try HEVCDecoderConfigurationRecord(entry.configuration.rawSpan)
            coding = .slices(
                try SliceHeaderReader(.h265, parameterSets: record.arrays.flatMap(\.units)),
                lengthSize: record.lengthSize
            )
        default:
            guard entry.codec != nil else { throw MediaError(.unsupported, "\(entry.format) cannot be encrypted") }
            coding = .whole
        }
    }

    /// Whether samples are pictures.
    package var isPicture: Bool {
        if case .slices = coding { true } else { false }
    }

    /// Whether samples are in parts.
    package var hasSubsamples: Bool { isPicture || scheme == .cens }

    /// Finds the encrypted parts of a sample.
    ///
    /// - Parameters:
    ///   - sample: the whole clear sample.
    ///   - encryption: gets the subsamples; empty if the whole sample is encrypted.
    /// - Throws: `Malformed` with the offset in the sample.
    package mutating func read(_ sample: RawSpan, into encryption: inout SampleEncryption) throws(Malformed) {
        guard case .slices(var headers, let lengthSize) = coding else {
            // implementations disagree whether `cens` encrypts a final partial audio block: subsamples make it unambiguous
            let rest = sample.byteCount % 16
            if scheme == .cens { encryption.append(clear: rest, protected: sample.byteCount - rest) }
            return
        }
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        var clear = 0
        while let range = try units.next() {
            clear += lengthSize
            guard !range.isEmpty else { continue }
            let unit = sample.extracting(range)
            let type = NALUnitType(headers.codec, header: unit.u8(at: 0))
            guard type.isPicture else {
                if type.isParameterSet, !type.isVideoParameterSet {
                    do throws(Malformed) { try headers.read(parameterSet: unit) } catch {
                        throw Malformed(error.what, at: range.lowerBound + error.offset)
                    }
                    coding = .slices(headers, lengthSize: lengthSize)
                }
                clear += unit.byteCount
                continue
            }
            let header: Int
            do throws(Malformed) { header = try headers.headerLength(of: unit) } catch {
                throw Malformed(error.what, at: range.lowerBound + error.offset)
            }
            var protected = unit.byteCount - header
            // whole blocks, so that no key stream of a block is split over parts; of cbc1 nothing else is allowed (§9.5.2.3)
            if scheme != .cbcs { protected -= protected % 16 }
            if protected < 16 { protected = 0 }
            encryption.append(clear: clear + unit.byteCount - protected, protected: protected)
            clear = 0
        }
        if clear > 0 { encryption.append(clear: clear, protected: 0) }
    }
}
