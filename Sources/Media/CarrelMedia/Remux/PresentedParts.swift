// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
import CarrelTS

/// The parts of a track's media that its edit list presents, in the order of presentation (ISO/IEC 14496-12 §8.6.6).
///
/// Edits that follow each other in the media too are one part.
package struct PresentedParts: Sendable {
    package struct Part: Sendable, Hashable {
        /// The media time with which it begins, in units of the track.
        package var start: Int64
        /// The media time with which it ends; nil for the end of the media.
        package var end: Int64?
        /// When its presentation begins, in ticks of 90 kHz from the beginning of the presentation.
        package var time: Int64
    }

    /// In the order of presentation; one from the beginning to the end of the media where there is no edit.
    package private(set) var parts: [Part] = []
    /// Why it cannot be presented as parts, as a lower-case phrase; nil when it can.
    private(set) var fault: String?

    /// Most units of the movie that an edit lasts.
    private static let durationLimit: Int64 = 1 << 40

    package init(_ track: MP4Track) {
        let timescale = Int64(max(1, track.timescale))
        let movieTimescale = Int64(max(1, track.movieTimescale))
        // ends are written in the movie's timescale, which may be coarser than the track's
        let tolerance = timescale / movieTimescale + 1
        var elapsed: Int64 = 0
        for edit in track.editList.edits {
            let duration = min(max(0, edit.duration), Self.durationLimit)
            defer { elapsed &+= duration }
            guard edit.mediaTime >= 0 else { continue }
            let length = Timescale.convert(duration, times: Int(timescale), over: Int(movieTimescale))
            let (end, isPast) = edit.mediaTime.addingReportingOverflow(length)
            let part = Part(
                start: edit.mediaTime,
                end: duration == 0 || isPast ? nil : end,
                time: MediaTime.ticks(elapsed, timescale: movieTimescale)
            )
            if edit.rate != 0x1_0000, parts.count > 0 || track.editList.edits.count > 1 {
                fault = "presents a part of its media at another speed"
            }
            if let last = parts.last, let lastEnd = last.end, abs(lastEnd - part.start) <= tolerance,
                isSideBySide(last, part, timescale, tolerance)
            {
                parts[parts.count - 1].end = part.end
            } else {
                parts.append(part)
            }
        }
        if parts.isEmpty { parts = [Part(start: 0, end: nil, time: 0)] }
        if track.editList.isCut { fault = "has more than 1000 edits" }
    }

    /// Whether a part is presented immediately after the previous one.
    private func isSideBySide(_ last: Part, _ next: Part, _ timescale: Int64, _ tolerance: Int64) -> Bool {
        let end = last.time &+ MediaTime.ticks(next.start &- last.start, timescale: timescale)
        // of edits that last for ages the difference may be any number
        return (end &- next.time).magnitude <= MediaTime.ticks(tolerance, timescale: timescale).magnitude &+ 1
    }

    /// Refuses pictures and audio that fragments present in several parts: a part may lie before samples that have gone by.
    package static func refuseSeveral(_ tracks: [MP4Track]) throws(MediaError) {
        for track in tracks where track.kind == "vide" || track.kind == "soun" {
            guard PresentedParts(track).parts.count > 1 else { continue }
            throw MediaError(
                .unsupported,
                "track \(track.id) presents several parts of its media, which fragments cannot do as they arrive: pass a file"
            )
        }
    }
}
