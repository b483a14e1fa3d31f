// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// A shift of fragment times: media of several periods get the times of one presentation (ISO/IEC 23009-1 §7.2.1).
///
/// Media times of a period are relative to the presentation time offset. HLS players of fragmented MP4 treat fragment times as
/// presentation times, and lose segments if the times start over.
package struct FragmentShift: Sendable, Hashable {
    /// When the period begins.
    package var start: Duration
    /// The media time at the beginning of the period, in units of `timescale`.
    package var offset: Int64
    package var timescale: Int64

    /// Creates a shift of media that begin at an offset to a period's start.
    package init(start: Duration, offset: Int64, timescale: Int64) {
        self.start = start
        self.offset = offset
        self.timescale = max(1, timescale)
    }

    /// The shift in units of a timescale.
    ///
    /// - Parameter timescale: units per second.
    /// - Returns: units, rounded to the nearest.
    package func units(_ timescale: Int64) -> Int64 {
        let timescale = max(1, timescale)
        let parts = start.components
        // less than a second, in nanoseconds: the product stays below 63 bits
        let nanoseconds = parts.attoseconds / 1_000_000_000
        let fraction = (nanoseconds &* timescale &+ (nanoseconds < 0 ? -500_000_000 : 500_000_000)) / 1_000_000_000
        let (whole, rest) = offset.quotientAndRemainder(dividingBy: self.timescale)
        return parts.seconds &* timescale &+ fraction &- whole &* timescale &- rest &* timescale / self.timescale
    }

    /// Shifts the times in a box.
    ///
    /// - Parameters:
    ///   - box: a whole `moof`, `sidx` or `emsg`, header included; other boxes are unchanged. The length stays the same.
    ///   - tracks: the tracks of the movie.
    /// - Throws: `unsupported` if a time does not fit into its field.
    func apply(to box: inout [UInt8], tracks: [MP4Track]) throws(MediaError) {
        guard box.count >= 12 else { return }
        let header = box.rawSpan.u32(at: 0) == 1 ? 16 : 8
        switch FourCC(box.rawSpan.u32(at: 4)) {
        case "moof":
            for traf in Self.children(of: "traf", in: box, header..<box.count) {
                guard let head = Self.children(of: "tfhd", in: box, traf).first, head.count >= 8,
                    let track = tracks.first(where: { $0.id == box.rawSpan.u32(at: head.lowerBound + 4) })
                else { continue }
                for time in Self.children(of: "tfdt", in: box, traf) {
                    try add(units(Int64(track.timescale)), to: &box, at: time, field: 4)
                }
            }
        case "sidx":
            guard box.count >= header + 12 else { return }
            let timescale = Int64(box.rawSpan.u32(at: header + 8))
            try add(units(timescale), to: &box, at: header..<box.count, field: 12)
        case "emsg":
            // times of version 0 are relative to the segment
            guard box.rawSpan.u8(at: header) == 1, box.count >= header + 8 else { return }
            let timescale = Int64(box.rawSpan.u32(at: header + 4))
            try add(units(timescale), to: &box, at: header..<box.count, field: 8)
        default: return
        }
    }

    /// Adds to a time of a full box, which has 64 bits in version 1.
    private func add(_ units: Int64, to box: inout [UInt8], at content: Range<Int>, field: Int) throws(MediaError) {
        let place = content.lowerBound + field
        guard content.count > 4 else { return }
        let isLong = box.rawSpan.u8(at: content.lowerBound) == 1
        let length = isLong ? 8 : 4
        guard place + length <= content.upperBound else { return }
        let time = isLong ? box.rawSpan.u64(at: place) : UInt64(box.rawSpan.u32(at: place))
        // media that begin before their period keep its beginning
        let (sum, isOver) = Int64(clamping: time).addingReportingOverflow(units)
        let result = UInt64(max(0, sum))
        guard !isOver, isLong || result <= UInt64(UInt32.max) else {
            throw MediaError(.unsupported, "a time of a fragment has no room in its field: choose transport streams")
        }
        for byte in 0..<length { box[place + byte] = UInt8(truncatingIfNeeded: result >> UInt64(8 * (length - 1 - byte))) }
    }

    /// The contents of the boxes of a type within a range.
    private static func children(of type: FourCC, in box: [UInt8], _ range: Range<Int>) -> [Range<Int>] {
        var contents: [Range<Int>] = []
        var at = range.lowerBound
        while at + 8 <= range.upperBound {
            let size = Int(box.rawSpan.u32(at: at))
            guard size >= 8, size <= range.upperBound - at else { break }
            if FourCC(box.rawSpan.u32(at: at + 4)) == type { contents.append(at + 8..<at + size) }
            at += size
        }
        return contents
    }
}
