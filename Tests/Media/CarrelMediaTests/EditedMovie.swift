// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// A progressive file with the samples of another, whose tracks have other edit lists or times.
enum EditedMovie {
    /// - Parameters:
    ///   - bytes: the file.
    ///   - kinds: the tracks that are taken over, by their handlers.
    ///   - movieTimescale: units a second of the durations of edits.
    ///   - edits: of each track; nil keeps those it has.
    ///   - change: the times of a sample, by its number.
    /// - Returns: the file.
    /// - Throws: `Malformed` if the file is damaged.
    static func make(
        _ bytes: [UInt8],
        kinds: [String] = ["vide", "soun"],
        movieTimescale: UInt32 = 1000,
        edits: (MP4Track) -> [EditList.Edit]? = { _ in nil },
        change: (MP4Track, Int, inout MP4Sample) -> Void = { _, _, _ in }
    ) throws -> [UInt8] {
        let file = try MP4File(BytesReader(bytes))
        let tracks = file.tracks.filter { kinds.contains($0.kind) }
        let movie = try tracks.map { track in
            var made = try MovieTrack(track)
            if let edits = edits(track) { made.edits = edits }
            return made
        }
        var writer = ProgressiveWriter(movie, movieTimescale: movieTimescale)
        var media: [UInt8] = []
        for (i, track) in tracks.enumerated() {
            var samples = file.samples(of: track)
            var number = 0
            while var sample = try samples.next() {
                media += bytes[Int(sample.offset)..<Int(sample.offset) + sample.size]
                change(track, number, &sample)
                guard writer.append(to: i, sample, size: sample.size) else { throw Malformed("sample does not fit", at: number) }
                number += 1
            }
        }
        return writer.beginningWithIndex + media
    }

    /// An edit of a track, in seconds; one without a beginning is empty.
    static func edit(_ track: MP4Track, from start: Double?, lasting seconds: Double, movieTimescale: Int = 1000) -> EditList.Edit
    {
        EditList.Edit(
            presented: Int64((seconds * Double(movieTimescale)).rounded()),
            from: start.map { Int64(($0 * Double(track.timescale)).rounded()) } ?? -1
        )
    }
}
