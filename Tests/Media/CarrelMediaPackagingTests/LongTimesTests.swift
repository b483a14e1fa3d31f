// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import ProtectedMedia
import Testing

struct `Times of a file that last for ages` {
    /// A track of a made file: units a second, and the durations of its samples.
    private struct Track {
        var kind: String
        var timescale: UInt32
        var durations: [Int64]
    }

    private static func movie(_ tracks: [Track]) throws -> [UInt8] {
        let film = try MP4File(BytesReader(Fixtures.bytes("media/src/av-h264-aac.mp4")))
        let movie = try tracks.enumerated().map { number, made in
            let original = try #require(film.tracks.first { $0.kind == made.kind })
            var track = try MovieTrack(original, id: UInt32(number + 1))
            track.timescale = made.timescale
            track.edits = []
            return track
        }
        var writer = ProgressiveWriter(movie)
        var media: [UInt8] = []
        for (number, track) in tracks.enumerated() {
            for duration in track.durations {
                let fits = writer.append(to: number, MP4Sample(offset: 0, size: 8, duration: duration), size: 8)
                try #require(fits)
                media += [0, 0, 0, 4, 0x65, 0, 0, 0]
            }
        }
        return writer.beginningWithIndex + media
    }

    private static func package(_ tracks: [Track], _ layout: PackagingOptions.Layout) async throws {
        let source = try await PackagingSource(name: "ages.mp4", BytesReader(try movie(tracks)))
        let packager = try Packager([source], PackagingRun.options(nil, layout))
        let directory = TemporaryDirectory()
        _ = try packager.write(to: try PackageFolder(directory.file("out")))
    }

    @Test(arguments: [PackagingOptions.Layout.segments, .ranges])
    func `are refused with the name of the file`(layout: PackagingOptions.Layout) async throws {
        // cuts of the first audio track, in units of the second, had no place in 64 bits
        let tracks = [
            Track(kind: "vide", timescale: 1, durations: [2_147_483_640, 1]),
            Track(kind: "soun", timescale: 1, durations: [2_147_483_640, 4_294_967_290]),
            Track(kind: "soun", timescale: .max, durations: [1]),
        ]
        let error = await #expect(throws: MediaError.self) { try await Self.package(tracks, layout) }
        #expect(
            error?.code == .malformed && error?.message.contains("ages.mp4: a sample's time is out of range") == true,
            "\(error as Any)"
        )
    }

    @Test func `do not overflow the clocks of other tracks`() async throws {
        let tracks = [
            Track(kind: "vide", timescale: 1, durations: [8_000_000, 8_000_000]),
            Track(kind: "soun", timescale: .max, durations: [4_294_967_295, 1]),
        ]
        try await Self.package(tracks, .segments)
    }
}
