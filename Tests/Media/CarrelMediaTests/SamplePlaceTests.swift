// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import ProtectedMedia
import Testing

struct `A walk through the samples of a movie` {
    /// The positions of auxiliary information and groups, in every form that occurs in files.
    @Test(arguments: `Files of Common Encryption`.schemes + `Files of Common Encryption`.parameters)
    func `continues from every position`(made: `Files of Common Encryption`.Made) async throws {
        let movie = made.movie()
        let file = try MP4File(BytesReader(try movie.file()))
        let track = try #require(file.tracks.first)
        let protection = try await FileProtection(file, from: movie.keys)
        var places: [MP4SamplePosition] = []
        var samples = MP4Samples(of: track, in: file.reader, from: nil)
        while true {
            let place = samples.position
            guard let sample = try samples.next() else { break }
            try samples.skipEncryption(track.entries[sample.entry].encryption)
            places.append(place)
        }
        #expect(places.count == movie.samples.count && places.count > 3)
        for (number, place) in places.enumerated().reversed() {
            let walk = MP4Samples(of: track, in: file.reader, from: place)
            let reader = try ClearTrackReader(track, walk, in: file.reader, protection)
            for expected in movie.samples[number...] {
                let clear = try reader.next { [UInt8](copying: $1.bytes.extracting($2)) }
                #expect(clear == expected.clear, "from \(number)")
            }
            #expect(reader.sample == nil)
        }
    }
}
