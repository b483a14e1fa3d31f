// SPDX-License-Identifier: Apache-2.0

import CarrelMP4

/// The subsegments of a representation in a single file, from its `sidx` (ISO/IEC 23009-1 §5.3.9.2, SegmentBase).
package struct StreamIndex: Sendable {
    /// A subsegment.
    struct Entry: Sendable, Equatable {
        /// In units of the index.
        var time: Int64
        var start: Duration
        var duration: Duration
        var range: Range<Int64>
    }

    /// The subsegments, computed on access: a session may have many thousands of them.
    struct Entries: RandomAccessCollection, Sendable {
        /// Half the bytes of an entry: the box has sizes and durations of 32 bits.
        fileprivate struct Packed: Sendable {
            var offset: Int64
            var time: Int64
            var size: UInt32
            var duration: UInt32
        }

        fileprivate var packed: [Packed] = []
        fileprivate var timescale: Int64 = 1

        var startIndex: Int { 0 }
        var endIndex: Int { packed.count }

        subscript(place: Int) -> Entry {
            let entry = packed[place]
            return Entry(
                time: entry.time,
                start: seconds(entry.time),
                duration: seconds(Int64(entry.duration)),
                range: entry.offset..<entry.offset + Int64(entry.size)
            )
        }

        private func seconds(_ time: Int64) -> Duration {
            let (whole, rest) = time.quotientAndRemainder(dividingBy: timescale)
            return .seconds(whole) + .nanoseconds(rest * 1_000_000_000 / timescale)
        }
    }

    private(set) var entries = Entries()

    /// Bytes of memory that it takes, about.
    var cost: Int { entries.packed.capacity * MemoryLayout<Entries.Packed>.stride + 256 }

    /// Adds a subsegment.
    ///
    /// - Parameters:
    ///   - subsegment: the next one.
    ///   - timescale: units a second.
    mutating func append(_ subsegment: Subsegment, timescale: Int64) {
        entries.timescale = max(1, timescale)
        entries.packed.append(
            Entries.Packed(
                offset: subsegment.range.lowerBound,
                time: subsegment.time,
                size: UInt32(clamping: subsegment.range.count),
                duration: UInt32(clamping: subsegment.duration)
            )
        )
    }

    /// Gives back the memory that more subsegments would have taken.
    mutating func finish() {
        var exact: [Entries.Packed] = []
        exact.reserveCapacity(entries.packed.count)
        exact += entries.packed
        entries.packed = exact
    }
}
