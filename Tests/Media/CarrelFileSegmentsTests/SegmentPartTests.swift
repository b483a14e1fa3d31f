// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

/// Small files whose tracks and segments multiply.
struct `A file of many tracks and segments` {
    private typealias F = HostileFile

    /// Pictures of one byte, each a sync sample of seven seconds, and audio tracks. With a start, an edit of each track begins there.
    private static func file(_ pictures: Int, _ tracks: Int, samples: Int, from start: Int? = nil) -> HostileFile {
        let movie = F.box("mvhd", F.words(0, 0, 0, 1000, 0))
        let head = F.brand + F.header("mdat", 8)
        func track(_ id: Int, _ handler: String, _ entry: [UInt8], _ count: Int) -> [UInt8] {
            let tables =
                F.box("stsd", F.words(0, 1) + entry) + F.box("stts", F.words(0, 1, count, 7000))
                + F.box("stsc", F.words(0, 1, 1, count, 1)) + F.box("stsz", F.words(0, 1, count))
                + F.box("stco", F.words(0, 1, head.count))
            let media = F.box(
                "mdia",
                F.box("mdhd", F.words(0, 0, 0, 1000, 0) + [0x55, 0xc4, 0, 0])
                    + F.box("hdlr", F.words(0, 0) + Array(handler.utf8) + F.words(0, 0, 0) + [0])
                    + F.box("minf", F.box("stbl", tables))
            )
            let edit = start.map { F.box("edts", F.box("elst", F.words(0, 1, pictures * 7000 - $0, $0, 0x10000))) } ?? []
            return F.box("trak", F.box("tkhd", F.words(1, 0, 0, id, 0, 0)) + edit + media)
        }
        let reserved = [UInt8](repeating: 0, count: 6) + [0, 1]
        let audio = F.box(
            "ac-3",
            reserved + F.words(0, 0) + [0, 2, 0, 16] + F.words(0, 48_000 << 16) + F.box("dac3", [0x10, 0x3d, 0x40])
        )
        let record: [UInt8] = [1, 66, 0, 10, 0xff, 0xe1, 0, 4, 0x67, 66, 0, 10, 1, 0, 2, 0x68, 0xce]
        let picture = F.box("avc1", reserved + [UInt8](repeating: 0, count: 70) + F.box("avcC", record))
        var content = movie + track(1, "vide", picture, pictures)
        for number in 0..<tracks { content += track(number + 2, "soun", audio, samples) }
        let bytes = head + Array(0..<8) + F.box("moov", content)
        return F(bytes, length: Int64(bytes.count))
    }

    /// 114 KB took a gigabyte: a place for each track in each segment, also after the last sample of the track.
    @Test func `has no parts after the end of a track`() async throws {
        let file = Self.file(32_768, 199, samples: 1)
        #expect(file.length < 130_000)
        let made = try await SegmentedFile(file, GivenKeys(), target: .seconds(7))
        #expect(made.segments.segments.count == 32_768)
    }

    /// The audio ends in a segment that the edit hides.
    @Test(arguments: [1, 6]) func `begins with the segment that an edit begins in`(samples: Int) async throws {
        let file = Self.file(6, 1, samples: samples, from: 22_000)
        let made = try await SegmentedFile(file, GivenKeys(), target: .seconds(7))
        #expect(made.segments.segments.count == 3)
        #expect(abs(made.segments.duration / .seconds(1) - 20) < 0.01)
        let pictures = try (0..<3).map { try made.fragments($0, track: 1).last }
        #expect(pictures == [3, 4, 5], "each segment has its own picture")
        #expect(made.segments.iFrames.map(\.segment) == [0, 1, 2])
    }

    @Test func `is refused if its tracks have more than 65,536 parts`() async throws {
        let error = await #expect(throws: MediaError.self) {
            _ = try await SegmentedFile(Self.file(2_000, 199, samples: 2_000), GivenKeys(), target: .seconds(7))
        }
        #expect(error?.message.contains("65536 segments") == true, "\(error?.message ?? "")")
    }
}
