// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Looks at the headers of fragments, one after the other: when the samples of each track begin and end, and nothing of their
/// bytes.
package struct FragmentSurvey {
    /// The samples of one track in a fragment.
    package struct Part: Sendable {
        /// The first one.
        package var first: MP4Sample
        /// When the last one's presentation ends, in units of the track's time scale; the latest of all.
        package var presentedEnd: Int64
    }

    /// The end time of each track's samples so far, in units of its timescale: a fragment without a time begins there.
    package private(set) var ends: [Int64]
    /// Samples so far.
    package private(set) var count = 0

    private let tracks: [MP4Track]
    private var window: FileWindow

    /// - Parameters:
    ///   - tracks: the tracks to look at.
    ///   - reader: their file.
    ///   - ends: the end of the samples before the first fragment, by track.
    package init(_ tracks: [MP4Track], in reader: any ByteReader, from ends: [Int64]) {
        self.tracks = tracks
        self.ends = ends
        window = FileWindow(reader, capacity: 1 << 14)
    }

    /// The key IDs in some fragments (ISO/IEC 23001-7 §6), each with its track, in order of appearance.
    ///
    /// - Parameters:
    ///   - tracks: the tracks to examine.
    ///   - fragments: `moof` boxes.
    ///   - reader: their file.
    /// - Returns: at most 65,536 key IDs, without duplicates.
    /// - Throws: the errors of the reader; `Malformed` if a fragment is damaged.
    package static func keyIDs(
        of tracks: [MP4Track],
        in fragments: [MP4Box],
        of reader: any ByteReader
    ) throws -> [(track: UInt32, id: KeyID)] {
        var keyIDs: [(track: UInt32, id: KeyID)] = []
        var seen: [UInt32: Set<KeyID>] = [:]
        var window = FileWindow(reader, capacity: 1 << 14)
        for fragment in fragments {
            for part in try TrackFragment.read(fragment, of: tracks, &window) {
                let replacement = part.auxiliary.replacement.map { [$0] } ?? []
                for group in part.auxiliary.groups.fragment + replacement where group.isProtected && keyIDs.count < 65_536 {
                    if seen[part.trackID, default: []].insert(group.keyID).inserted { keyIDs.append((part.trackID, group.keyID)) }
                }
            }
        }
        return keyIDs
    }

    /// Reads the header of the next fragment.
    ///
    /// - Parameters:
    ///   - fragment: a `moof` box.
    ///   - limit: maximum number of samples in all.
    /// - Returns: the part of each track; nil if it has none.
    /// - Throws: the errors of the reader; `Malformed` if the header is damaged, or there are more samples.
    package mutating func read(_ fragment: MP4Box, limit: Int) throws -> [Part?] {
        var parts = [Part?](repeating: nil, count: tracks.count)
        for part in try TrackFragment.read(fragment, of: tracks, &window) {
            guard let track = tracks.firstIndex(where: { $0.id == part.trackID }) else { continue }
            count += part.sampleCount
            guard count <= limit else { throw Malformed("more than \(limit) samples", at: Int(fragment.start)) }
            var walk = TrackFragmentSamples(part, from: ends[track])
            while let sample = try walk.next(&window) {
                let presented = sample.decodeTime &+ sample.compositionOffset &+ sample.duration
                let end = max(parts[track]?.presentedEnd ?? presented, presented)
                parts[track] = Part(first: parts[track]?.first ?? sample, presentedEnd: end)
            }
            ends[track] = walk.decodeTime
        }
        return parts
    }
}
