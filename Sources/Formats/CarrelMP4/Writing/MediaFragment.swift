// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Samples of one track that follow each other, as a movie fragment (`moof` and `mdat`, ISO/IEC 14496-12 §8.8).
///
/// It holds the numbers of the samples, not their bytes: `header` writes everything before the bytes.
package struct MediaFragment: Sendable {
    /// How the samples of a fragment are encrypted.
    package struct Protection: Sendable {
        /// The parameters of these samples if they differ from the track's (`seig`); otherwise nil.
        package var group: TrackEncryption?
        /// The headers of protection systems in the fragment.
        package var systems: [ProtectionSystemHeader] = []
        /// The entries of `senc`, back to back: the vector, and the subsamples.
        package var information: [UInt8] = []
        /// Size of each sample's entry in bytes; 0 without an entry.
        package var sizes: [UInt8] = []
        /// Whether samples are in parts.
        package var hasSubsamples = false

        package init() {}

        /// Makes room for the samples of the next fragment.
        package mutating func restart() {
            information.removeAll(keepingCapacity: true)
            sizes.removeAll(keepingCapacity: true)
        }

        /// Adds the entry of one sample.
        ///
        /// - Parameters:
        ///   - encryption: how it is encrypted.
        ///   - ivSize: bytes of its vector: 0, 8 or 16.
        /// - Returns: false if the sample has too many parts for the box.
        package mutating func append(_ encryption: SampleEncryption, ivSize: Int) -> Bool {
            let start = information.count
            let length = ivSize + (hasSubsamples ? 2 + 6 * encryption.subsamples.count : 0)
            guard let size = UInt8(exactly: length) else { return false }
            if ivSize >= 8 { information.append(bigEndian: encryption.iv.high) }
            if ivSize == 16 { information.append(bigEndian: encryption.iv.low) }
            if hasSubsamples {
                information.append(bigEndian: UInt16(encryption.subsamples.count))
                for part in encryption.subsamples {
                    guard let clear = UInt16(exactly: part.clear), let protected = UInt32(exactly: part.protected) else {
                        information.removeSubrange(start...)
                        return false
                    }
                    information.append(bigEndian: clear)
                    information.append(bigEndian: protected)
                }
            }
            sizes.append(size)
            return true
        }
    }

    /// Counts the fragments of a track, from 1.
    package var sequenceNumber: UInt32
    /// The track.
    package let trackID: UInt32
    /// When the first sample is decoded, in units of the track.
    package var decodeTime: UInt64
    /// The index of the track's description for all samples, from 0.
    package var entry: Int
    /// How they are encrypted; nil if they are clear.
    package var protection: Protection?

    /// Samples added.
    package var count: Int { sizes.count }
    /// The duration of the samples added.
    package private(set) var duration: UInt64 = 0
    /// Bytes of the samples added.
    package private(set) var byteCount = 0
    /// Whether decoding can begin with the first sample.
    package var startsWithSync: Bool { syncs.first ?? false }

    private var sizes: [UInt32] = []
    private var durations: [UInt32] = []
    private var offsets: [Int32] = []
    private var syncs: [Bool] = []

    private static let sync: UInt32 = 0x0200_0000
    private static let nonSync: UInt32 = 0x0101_0000

    /// - Parameters:
    ///   - sequenceNumber: the number of the fragment, from 1.
    ///   - trackID: the track.
    ///   - decodeTime: the decode time of the first sample, in units of the track.
    ///   - entry: the index of the track's description for all samples, from 0.
    package init(sequenceNumber: UInt32, trackID: UInt32, decodeTime: UInt64, entry: Int = 0) {
        self.sequenceNumber = sequenceNumber
        self.trackID = trackID
        self.decodeTime = decodeTime
        self.entry = entry
    }

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - size: bytes.
    ///   - duration: its duration, in units of the track.
    ///   - compositionOffset: the presentation time minus the decode time.
    ///   - isSync: whether decoding can begin with it.
    /// - Returns: false if a number does not fit into the box.
    package mutating func append(size: Int, duration: Int64, compositionOffset: Int64, isSync: Bool) -> Bool {
        guard let bytes = UInt32(exactly: size), let units = UInt32(exactly: duration),
            let offset = Int32(exactly: compositionOffset), byteCount + size < 1 << 31
        else { return false }
        sizes.append(bytes)
        durations.append(units)
        offsets.append(offset)
        syncs.append(isSync)
        self.duration += UInt64(units)
        byteCount += size
        return true
    }

    /// The bytes before the samples: `moof`, and the header of `mdat`.
    package var header: [UInt8] {
        var writer = BoxWriter()
        var dataOffset = 0
        var auxiliaryOffset: Int?
        var auxiliaryStart = 0
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.u32(sequenceNumber) }
            writer.box("traf") { writer in
                writeFragmentHeader(to: &writer)
                writer.fullBox("tfdt", version: 1) { $0.u64(decodeTime) }
                dataOffset = writeRun(to: &writer)
                guard let protection else { return }
                if let group = protection.group {
                    // a fragment's own groups are counted from here (ISO/IEC 14496-12 §8.9.4)
                    writer.fullBox("sgpd", version: 1) { writer in
                        writer.fourCC("seig")
                        group.writeGroupDescription(to: &writer)
                    }
                    writer.fullBox("sbgp") { writer in
                        writer.fourCC("seig")
                        writer.u32(1)
                        writer.u32(UInt32(clamping: count))
                        writer.u32(0x1_0001)
                    }
                }
                guard !protection.information.isEmpty else { return }
                writeAuxiliarySizes(protection, to: &writer)
                writer.fullBox("saio") { writer in
                    writer.u32(1)
                    auxiliaryOffset = writer.bytes.count
                    writer.u32(0)
                }
                writer.fullBox("senc", flags: protection.hasSubsamples ? 2 : 0) { writer in
                    writer.u32(UInt32(clamping: protection.sizes.count))
                    auxiliaryStart = writer.bytes.count
                    writer.append(protection.information)
                }
            }
            for system in protection?.systems ?? [] { system.write(to: &writer) }
        }
        let start = writer.bytes.count
        writer.patch(UInt32(clamping: start + 8), at: dataOffset)
        if let auxiliaryOffset { writer.patch(UInt32(clamping: auxiliaryStart), at: auxiliaryOffset) }
        writer.u32(UInt32(clamping: byteCount + 8))
        writer.fourCC("mdat")
        return writer.bytes
    }

    /// A whole fragment without samples, at the beginning of the presentation.
    package static func empty(trackID: UInt32) -> [UInt8] {
        MediaFragment(sequenceNumber: 0, trackID: trackID, decodeTime: 0).header
    }

    private var hasOneDuration: Bool { durations.allSatisfy { $0 == durations.first } }
    /// Whether the header contains a common size of all samples; a size of 0 would mean none.
    private var hasOneSize: Bool { sizes.allSatisfy { $0 == sizes.first && $0 > 0 } }
    /// Whether the flags of the first sample and one value for all others suffice.
    private var hasSimpleFlags: Bool { syncs.dropFirst().allSatisfy { $0 == (syncs.count > 1 ? syncs[1] : false) } }

    private func writeFragmentHeader(to writer: inout BoxWriter) {
        // default-base-is-moof, and the flags of most samples
        var flags: UInt32 = 0x2_0000 | 0x02 | 0x20
        if hasOneDuration { flags |= 0x08 }
        if hasOneSize { flags |= 0x10 }
        writer.fullBox("tfhd", flags: flags) { writer in
            writer.u32(trackID)
            writer.u32(UInt32(clamping: entry + 1))
            if hasOneDuration { writer.u32(durations.first ?? 0) }
            if hasOneSize { writer.u32(sizes.first ?? 0) }
            writer.u32((syncs.count > 1 ? syncs[1] : startsWithSync) ? Self.sync : Self.nonSync)
        }
    }

    /// Writes the run, and returns the place of its data offset.
    private func writeRun(to writer: inout BoxWriter) -> Int {
        let hasOffsets = offsets.contains { $0 != 0 }
        let simple = hasSimpleFlags
        let differs = simple && syncs.count > 1 && syncs[0] != syncs[1]
        var flags: UInt32 = 1
        if differs { flags |= 4 }
        if !hasOneDuration { flags |= 0x100 }
        if !hasOneSize { flags |= 0x200 }
        if !simple { flags |= 0x400 }
        if hasOffsets { flags |= 0x800 }
        var offsetField = 0
        writer.fullBox("trun", version: offsets.contains { $0 < 0 } ? 1 : 0, flags: flags) { writer in
            writer.u32(UInt32(clamping: count))
            offsetField = writer.bytes.count
            writer.u32(0)
            if differs { writer.u32(startsWithSync ? Self.sync : Self.nonSync) }
            for i in sizes.indices {
                if flags & 0x100 != 0 { writer.u32(durations[i]) }
                if flags & 0x200 != 0 { writer.u32(sizes[i]) }
                if !simple { writer.u32(syncs[i] ? Self.sync : Self.nonSync) }
                if hasOffsets { writer.u32(UInt32(bitPattern: offsets[i])) }
            }
        }
        return offsetField
    }

    private func writeAuxiliarySizes(_ protection: Protection, to writer: inout BoxWriter) {
        let first = protection.sizes.first ?? 0
        let isConstant = protection.sizes.allSatisfy { $0 == first }
        writer.fullBox("saiz") { writer in
            writer.u8(isConstant ? first : 0)
            writer.u32(UInt32(clamping: protection.sizes.count))
            if !isConstant { writer.append(protection.sizes) }
        }
    }
}
