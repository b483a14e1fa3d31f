import CarrelBytes

/// Looks at the headers of fragments, one after the other: when the samples of each track begin and end, and nothing of their bytes.
package struct FragmentSurvey {
    /// The samples of one track in a fragment.
    package struct Part: Sendable {
        /// The first one.
        package var first: MP4Sample
        /// When the last one's presentation ends, in units of the track's time scale; the latest of all.
        package var presentedEnd: Int64
    }

    /// When the samples of each track so far end, in units of its time scale: where a fragment does not say, its samples begin there.
    package private(set) var ends: [Int64]
    /// Samples so far.
    package private(set) var count = 0

    private let tracks: [MP4Track]
    private var window: FileWindow

    /// - Parameters:
    ///   - tracks: the tracks to look at.
    ///   - reader: their file.
    ///   - ends: when the samples before the first fragment end, by track.
    package init(_ tracks: [MP4Track], in reader: any ByteReader, from ends: [Int64]) {
        self.tracks = tracks
        self.ends = ends
        window = FileWindow(reader, capacity: 1 << 14)
    }

    /// Reads the header of the next fragment.
    ///
    /// - Parameters:
    ///   - fragment: a `moof` box.
    ///   - limit: samples in all, at most.
    /// - Returns: what it has of each track; nil where it has none.
    /// - Throws: what the reader throws; `Malformed` when the header is damaged, or there are more samples.
    package mutating func read(_ fragment: MP4Box, limit: Int) throws -> [Part?] {
        var found = [Part?](repeating: nil, count: tracks.count)
        for part in try TrackFragment.read(fragment, of: tracks, &window) {
            guard let track = tracks.firstIndex(where: { $0.id == part.trackID }) else { continue }
            count += part.sampleCount
            guard count <= limit else { throw Malformed("more than \(limit) samples", at: Int(fragment.start)) }
            var walk = TrackFragmentSamples(part, from: ends[track])
            while let sample = try walk.next(&window) {
                let presented = sample.decodeTime &+ sample.compositionOffset &+ sample.duration
                let end = max(found[track]?.presentedEnd ?? presented, presented)
                found[track] = Part(first: found[track]?.first ?? sample, presentedEnd: end)
            }
            ends[track] = walk.decodeTime
        }
        return found
    }
}
