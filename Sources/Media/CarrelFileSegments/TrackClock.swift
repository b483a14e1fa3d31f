// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia

/// Turns the times of a track into 90 kHz ticks from the beginning of the presentation, as `TransportRemuxer` does.
struct TrackClock: Sendable {
    private let timescale: Int64
    /// The ticks that are added to the times of the media.
    private let shift: Int64
    /// The same in units of the track, from a beginning at `TransportRemuxer.origin`.
    let unitShift: Int64

    /// - Parameter track: a track with a timescale.
    init(_ track: MP4Track) {
        timescale = Int64(max(1, track.timescale))
        var delay: Int64 = 0
        var units: Int64 = 0
        var start: Int64 = 0
        for edit in track.editList.edits {
            guard edit.mediaTime < 0 else {
                start = edit.mediaTime
                break
            }
            guard track.movieTimescale > 0 else { continue }
            let duration = min(max(0, edit.duration), 1 << 40)
            delay &+= duration &* 90_000 / Int64(track.movieTimescale)
            units &+= duration &* timescale / Int64(track.movieTimescale)
        }
        // an edit list with empty edits only is ignored
        if start == 0, track.editList.edits.allSatisfy({ $0.mediaTime < 0 }) { (delay, units) = (0, 0) }
        shift = delay &- Self.ticks(start, timescale)
        unitShift = units &- start &+ TransportRemuxer.origin / 90_000 &* timescale
    }

    /// The presentation of a time of the media, in ticks.
    func presentation(_ time: Int64) -> Int64 { Self.ticks(time, timescale) &+ shift }

    /// The presentation of a time in other units, in ticks.
    func presentation(_ time: Int64, timescale: Int64) -> Int64 { Self.ticks(time, timescale) &+ shift }

    private static func ticks(_ time: Int64, _ timescale: Int64) -> Int64 {
        var (seconds, remainder) = time.quotientAndRemainder(dividingBy: timescale)
        if remainder < 0 { (seconds, remainder) = (seconds &- 1, remainder &+ timescale) }
        return seconds &* 90_000 &+ (remainder &* 90_000 &+ timescale / 2) / timescale
    }
}

extension Duration {
    /// Ticks of 90 kHz.
    init(ticks: Int64) {
        let (seconds, remainder) = ticks.quotientAndRemainder(dividingBy: 90_000)
        self = .seconds(seconds) + .nanoseconds(remainder * 100_000 / 9)
    }

    /// Ticks of 90 kHz, a day at most and a tick at least.
    var ticks: Int64 {
        let seconds = self / .seconds(1)
        return seconds >= 86_400 ? 86_400 * 90_000 : max(1, Int64((seconds * 90_000).rounded()))
    }
}
