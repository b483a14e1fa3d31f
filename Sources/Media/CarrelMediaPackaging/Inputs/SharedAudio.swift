// SPDX-License-Identifier: Apache-2.0

import CarrelMP4

/// Removes duplicate audio of several bit rates of one film: each video file contains the same audio, and only one rendition of
/// it is packaged.
///
/// Tracks of different files are the same audio if they have the same language, coding and channels, and the same index among
/// such tracks of their file. The track with the highest bit rate is packaged. Files without video keep all of their tracks.
struct SharedAudio {
    /// The tracks to package, in the order of the files.
    private(set) var tracks: [PackagedTrack] = []
    /// The tracks that are left out, each with its file.
    private(set) var warnings: [String] = []

    private struct Place: Hashable {
        var language: String?
        var codecs: String
        var channels: Int
        /// The place among the tracks of a file that are alike otherwise.
        var number: Int
    }

    private static func rate(_ track: PackagedTrack) -> Double { Double(track.byteCount) / max(track.seconds, 0.001) }

    init(_ audio: [PackagedTrack]) {
        var owners: [Place: Int] = [:]
        var counts: [String: [Place: Int]] = [:]
        for track in audio {
            guard track.source.hasPictures else {
                tracks.append(track)
                continue
            }
            var place = Place(language: track.language, codecs: track.codecs, channels: track.channels, number: 0)
            let number = counts[track.source.name, default: [:]][place, default: 0]
            counts[track.source.name, default: [:]][place] = number + 1
            place.number = number
            guard let owner = owners[place] else {
                owners[place] = tracks.count
                tracks.append(track)
                continue
            }
            let other = tracks[owner]
            // the same audio may have a few more frames in another file
            let isBetter = Self.rate(track) > 1.02 * Self.rate(other)
            if isBetter { tracks[owner] = track }
            let (kept, omitted) = isBetter ? (track, other) : (other, track)
            warnings.append(
                "\(omitted.source.name): audio track \(omitted.track.id) is left out: track \(kept.track.id) of "
                    + "\(kept.source.name) is packaged for its language and coding"
            )
        }
    }
}
