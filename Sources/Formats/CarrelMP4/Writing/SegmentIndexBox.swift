// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The places of a file's subsegments, and the times at which they begin (`sidx`, ISO/IEC 14496-12 §8.16.3).
package struct SegmentIndexBox: Sendable, Hashable {
    /// References of one index, at most: the box counts them with 16 bits.
    package static let limit = 0xffff

    /// One subsegment.
    package struct Reference: Sendable, Hashable {
        /// Bytes; below 2^31.
        package var size: UInt32
        /// In units of the index.
        package var duration: UInt32
        /// Whether it begins with a picture at which decoding can start.
        package var startsWithSync: Bool
        /// The type of its stream access point (Annex I): 1 if no picture after it is presented before it, 3 if such pictures may need
        /// others before it.
        package var accessType: UInt32
        /// Whether it refers to another index.
        package var isIndex = false

        package init(size: UInt32, duration: UInt32, startsWithSync: Bool = true, accessType: UInt32 = 1) {
            self.size = size
            self.duration = duration
            self.startsWithSync = startsWithSync
            self.accessType = accessType
        }
    }

    /// The track whose times are used.
    package var trackID: UInt32
    /// Units a second.
    package var timescale: UInt32
    /// When the first subsegment is presented.
    package var earliestTime: UInt64
    /// Bytes between the end of the box and the first subsegment.
    package var firstOffset: UInt64 = 0
    /// In the order of the file; the box can name 65,535.
    package var references: [Reference]

    /// - Parameters:
    ///   - trackID: the track whose times are used.
    ///   - timescale: units per second.
    ///   - earliestTime: the presentation time of the first subsegment.
    ///   - references: the subsegments, at most 65,535.
    package init(trackID: UInt32, timescale: UInt32, earliestTime: UInt64, references: [Reference]) {
        self.trackID = trackID
        self.timescale = timescale
        self.earliestTime = earliestTime
        self.references = references
    }

    /// Bytes of a box of this many references.
    package static func length(references count: Int) -> Int { 40 + 12 * count }

    /// Writes the box, in version 1.
    package func write(to writer: inout BoxWriter) {
        writer.fullBox("sidx", version: 1) { writer in
            writer.u32(trackID)
            writer.u32(timescale)
            writer.u64(earliestTime)
            writer.u64(firstOffset)
            writer.u16(0)
            writer.u16(UInt16(clamping: references.count))
            for reference in references.prefix(0xffff) {
                writer.u32(reference.size & 0x7fff_ffff | (reference.isIndex ? 0x8000_0000 : 0))
                writer.u32(reference.duration)
                // starts_with_SAP and SAP_type
                writer.u32(reference.startsWithSync ? 0x8000_0000 | reference.accessType << 28 : 0)
            }
        }
    }
}
