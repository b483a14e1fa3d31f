// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelTesting
import ProtectedMedia
import Testing

/// A reader's results for a stream, without the pieces of data that belong to no sample.
private struct Account: Equatable {
    struct Sample: Equatable {
        var track: Int
        var sample: MP4Sample
        var start: Int
        var keyID: KeyID?
        var iv: [UInt8]
        var parts: [SampleEncryption.Subsample]
    }

    var bytes: [UInt8] = []
    var samples: [Sample] = []
    var boxes: [String] = []
    var error: Malformed?

    init(_ stream: [UInt8], splitAt cuts: some Sequence<Int>) throws {
        var reader = FragmentReader()
        var at = 0
        do {
            for cut in Array(cuts) + [stream.count] {
                reader.append(stream.rawSpan.extracting(at..<cut))
                at = cut
                if cut == stream.count { reader.end() }
                while let event = try reader.next() { add(event, reader) }
            }
        } catch let error as Malformed {
            self.error = error
        }
    }

    private mutating func add(_ event: FragmentReader.Event, _ reader: FragmentReader) {
        let range: Range<Int>
        switch event {
        case .movie(let place):
            range = place
            boxes.append("moov of \(reader.tracks.count), \(reader.keyIDs.map { "\($0.id)" })")
        case .fragment(let place):
            range = place
            boxes.append("moof, \(reader.keyIDs.map { "\($0.id)" })")
        case .box(let type, let place):
            range = place
            boxes.append("\(type) of \(place.count)")
        case .data(let place): range = place
        case .sample(let track, let sample, let place):
            range = place
            samples.append(
                Sample(
                    track: track,
                    sample: sample,
                    start: bytes.count,
                    keyID: reader.encryption.keyID,
                    iv: reader.encryption.iv.bytes,
                    parts: reader.encryption.subsamples
                )
            )
        }
        bytes.append(copying: reader.bytes.extracting(range))
    }
}

struct `A reader of fragments` {
    private static func stream(_ change: (inout ProtectedMovie) -> Void = { _ in }) throws -> [UInt8] {
        var movie = ProtectedMovie()
        movie.samples = ProtectedMovie.samples(1, hasParts: true, [0, 17, 33, 160, 40, 5, 0])
        movie.perPart = 2
        change(&movie)
        return try movie.fragments()
    }

    @Test func `says the same whatever the pieces`() throws {
        let streams = [
            try Self.stream(), try Self.stream { $0.hasLongBoxes = true }, try Self.stream { $0.splitsTracks = true },
            try Self.stream { movie in for i in 0..<3 { movie.samples[i].isClear = true } },
            // damaged: the error is the same too
            Array(try Self.stream().dropLast(7)), try Self.stream() + [0, 0, 0, 7, 0x6d, 0x64, 0x61, 0x74, 0],
        ]
        for stream in streams {
            let whole = try Account(stream, splitAt: [])
            #expect(whole.bytes == Array(stream.prefix(whole.bytes.count)) && whole.samples.count > 3)
            #expect(whole.error != nil || whole.bytes == stream)
            #expect(try Account(stream, splitAt: 1..<stream.count) == whole)
            for cut in 1..<stream.count { #expect(try Account(stream, splitAt: [cut]) == whole) }
        }
    }

    @Test func `has samples where they lie, with their times and flags`() throws {
        let stream = try Self.stream()
        let account = try Account(stream, splitAt: [])
        #expect(account.samples.map(\.start) == account.samples.map { Int($0.sample.offset) })
        #expect(account.samples.map(\.sample.size) == [0, 17, 33, 160, 40, 5, 0])
        #expect(account.samples.map(\.sample.decodeTime) == (0..<7).map { $0 * 1024 })
        // version 1 of the run: offsets are signed
        #expect(account.samples.map(\.sample.compositionOffset) == (0..<7).map { -$0 })
        let late = try Account(try Self.stream { $0.hasTime = false }, splitAt: [])
        #expect(late.samples.map(\.sample.decodeTime) == account.samples.map(\.sample.decodeTime))
    }

    @Test func `takes media data that extend to the end of the stream`() throws {
        var stream = try Self.stream { $0.partsPerFragment = 9 }
        let whole = try Account(stream, splitAt: [])
        let at = try #require(stream.indices.last { stream[$0...].starts(with: Array("mdat".utf8)) })
        stream.replaceSubrange(at - 4..<at, with: [0, 0, 0, 0])
        let open = try Account(stream, splitAt: 1..<stream.count)
        #expect(open.samples == whole.samples && open.error == nil && open.bytes == stream)
        let cut = try Account(Array(stream.dropLast(3)), splitAt: [])
        #expect(cut.error?.what == "stream is cut off inside media data")
    }

    @Test func `refuses runs that end past any file`() throws {
        let file = HostileFile.brand + HostileFile.movie(isFragmented: true, tables: HostileFile.empty)
        let runs = HostileFile.repeated(HostileFile.box("trun", HostileFile.words(0, -1)), 300)
        let account = try Account(file + HostileFile.fragment(HostileFile.part(runs, size: 1 << 23)), splitAt: [])
        #expect(account.error?.what == "track run lies past any file")
        let information =
            HostileFile.box("saiz", HostileFile.words(0) + [255] + HostileFile.words(-1))
            + HostileFile.box("saio", HostileFile.words(0x100_0000, 1, 0x7fff_ffff, -2))
        let part = HostileFile.part(HostileFile.box("trun", HostileFile.words(0, 4)) + information)
        let far = try Account(file + HostileFile.fragment(part) + HostileFile.box("mdat", [1, 2, 3, 4]), splitAt: [])
        #expect(far.error != nil)
    }
}
