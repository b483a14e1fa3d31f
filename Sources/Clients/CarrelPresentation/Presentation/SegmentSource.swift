// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// A media segment of one stream at the origin, and what is needed to read it.
struct SegmentSource: Sendable {
    /// The initialization segment of its stream, as the origin has it.
    var initialization: [UInt8]
    var url: String
    var range: Range<Int64>?
    /// The media time at the beginning of the period, in units of the stream, and when the period begins.
    var presentationTimeOffset: Int64 = 0
    var timescale: Int64 = 1
    var periodStart: Duration = .zero
    /// The time of the presentation at which fragments for the player have the time 0; nil if they keep the times of their media.
    var fragmentOrigin: Duration?
    /// Whether its event messages may have ID3 tags.
    var hasTags = false

    /// The change of the times of fragments for the player.
    var fragmentShift: FragmentShift? {
        fragmentOrigin.map { FragmentShift(start: periodStart - $0, offset: presentationTimeOffset, timescale: timescale) }
    }

    /// The ticks of 90 kHz at which fragments for the player have the beginning of the presentation.
    var fragmentStart: Int64 { fragmentShift.map { $0.units(90_000) } ?? 0 }

    /// The offset of media times in 90 kHz ticks: media times of a period are relative to its start in the presentation.
    var shift: Int64 {
        let start = periodStart.components
        let ticks = start.seconds &* 90_000 &+ start.attoseconds / 11_111_111_111_111
        let scale = max(1, timescale)
        let (whole, rest) = presentationTimeOffset.quotientAndRemainder(dividingBy: scale)
        return ticks &- (whole &* 90_000 &+ rest &* 90_000 / scale)
    }
}
