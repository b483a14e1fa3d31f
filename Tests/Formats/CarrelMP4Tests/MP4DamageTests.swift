// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

private typealias B = MP4Builder

struct `Damaged MP4 files` {
    /// Reads everything; errors other than `Malformed` fail the test.
    @discardableResult
    private func readAll(_ bytes: [UInt8], allowsTruncation: Bool = false) -> Malformed? {
        do {
            let file = try open(bytes)
            for track in file.tracks {
                var samples = file.samples(of: track, allowsTruncation: allowsTruncation)
                while try samples.nextRun(limit: 1 << 16) != nil {}
                if case .adts = track.framing { _ = try file.stream(track, allowsTruncation: allowsTruncation) { _, _ in } }
            }
            return nil
        } catch let error as Malformed {
            return error
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    @Test(
        arguments: [
            ([], "not an MP4 file"),
            (Array("ID3 and so on, no boxes here".utf8), "not an MP4 file"),
            (B.box("ftyp", Array("M4A ".utf8), B.words(0)), "file has no index"),
            (
                B.box("ftyp", Array("M4A ".utf8), B.words(0)) + B.words(1000) + Array("mdat".utf8),
                "file is cut off before its index"
            ),
            (
                B.box("ftyp", Array("M4A ".utf8), B.words(0)) + B.words(1000) + Array("moov".utf8),
                "file is cut off inside its index"
            ),
            (B.box("moov", B.words(1000) + Array("trak".utf8)), "box trak reaches past its parent"),
            (B.box("moov", B.words(7) + Array("trak".utf8)), "box trak is smaller than its header"),
            (B.box("moov", B.box("cmov")), "index is compressed"),
        ] as [([UInt8], String)]
    )
    func `are refused with what is wrong`(bytes: [UInt8], what: String) {
        #expect(readAll(bytes)?.what == what)
    }

    @Test func `lose what the end of the file cuts off, where that is allowed`() throws {
        // index first, then media
        var builder = MP4Builder()
        builder.samplesPerChunk = 5
        let whole = builder.file()
        let head = B.box("ftyp", Array("M4A ".utf8), B.words(0), Array("isom".utf8))
        let movie = Array(whole[(head.count + 158)...])
        let start = head.count + movie.count + 8
        let table = try #require(movie.indices.first { movie[$0...].starts(with: Array("stco".utf8)) })
        var moved = movie
        moved.replaceSubrange(table + 12..<table + 16, with: B.words(start))
        let file = head + moved + B.box("mdat", builder.samples.flatMap(\.self))
        #expect(try frames(open(file)).summary.frameCount == 5)

        let cut = Array(file.dropLast(60))
        #expect(readAll(cut)?.what == "file is cut off: sample 3 lies past its end")
        #expect(try open(cut).truncatedBoxAt == Int64(start - 8))
        let summary = try frames(open(cut), allowsTruncation: true).summary
        #expect(summary.frameCount == 3 && summary.truncatedAt == Int64(start + 60))
    }

    @Test func `are streamed though their tags are damaged`() throws {
        var builder = MP4Builder()
        builder.userData = B.box("meta", B.words(0), B.box("hdlr", B.words(0, 0)), B.words(1000) + Array("ilst".utf8))
        #expect(try frames(open(builder.file())).summary.frameCount == 5)
        builder.userData = B.words(3) + Array("meta".utf8)
        #expect(try frames(open(builder.file())).summary.frameCount == 5)
    }

    @Test func `cannot claim more samples than they have bytes`() throws {
        var builder = MP4Builder()
        let bytes = builder.file()
        for (name, place) in [("stsz", 12), ("stts", 8), ("stsc", 8), ("stco", 8)] {
            let at = try #require(bytes.indices.first { bytes[$0...].starts(with: Array(name.utf8)) })
            var bad = bytes
            bad.replaceSubrange(at + place..<at + place + 4, with: B.words(0x7fff_ffff))
            #expect(readAll(bad)?.what == "table \(name) has more entries than bytes")
        }
        builder.constantSize = 1
        builder.sizes = [Int](repeating: 1, count: 9)
        let at = try #require(builder.file().indices.first { builder.file()[$0...].starts(with: Array("stsz".utf8)) })
        var bad = builder.file()
        bad.replaceSubrange(at + 12..<at + 16, with: B.words(0x7fff_ffff))
        #expect(readAll(bad)?.what == "more samples than the file can hold")
    }

    @Test func `cannot make endless work of a few bytes`() throws {
        // a thousand runs, each of as many one-byte samples as the file is long
        func fragment(_ samples: Int, of size: Int) -> [UInt8] {
            B.box("moof", B.box("traf", B.box("tfhd", B.words(0x11, 1, 0, 0, size)), B.box("trun", B.words(1, samples, 0))))
        }
        let file = MP4Builder().file()
        let length = file.count + 1000 * fragment(0, of: 1).count
        let fragments = Array(repeatElement(fragment(length, of: 1), count: 1000).joined())
        #expect(readAll(file + fragments)?.what == "samples overlap")
        #expect(readAll(file + fragment(1, of: 0))?.what == "more samples than the file can hold")
    }

    @Test func `cannot fill memory with runs`() {
        func fragment(track: Int, runs: Int, samples: Int) -> [UInt8] {
            let run = B.box("trun", B.words(0, samples))
            let all = Array(repeatElement(run, count: runs).joined())
            return B.box("moof", B.box("traf", B.box("tfhd", B.words(0x2_0010, track, 1)), all))
        }
        let file = MP4Builder().file()
        #expect(readAll(file + fragment(track: 1, runs: 16_384, samples: 1)) == nil)
        #expect(readAll(file + fragment(track: 1, runs: 16_385, samples: 1))?.what == "fragment has too many runs")
        // those that are empty, or of another track, are not kept
        #expect(readAll(file + fragment(track: 1, runs: 20_000, samples: 0)) == nil)
        #expect(readAll(file + fragment(track: 2, runs: 20_000, samples: 1)) == nil)
    }

    @Test func `never trap`() {
        var random = SplitMix(seed: 11)
        var builder = MP4Builder()
        builder.edits = B.words(0, 1, 2000, 1105, 0x10000)
        builder.userData =
            B.metadata(
                B.item("©nam", Array("T".utf8)) + B.item("covr", kind: 13, [1, 2, 3]) + B.freeForm("iTunSMPB", " 0 840 1CA 5")
            )
            + B.box("chpl", [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 2, 65, 66])
        let fragment = B.box(
            "moof",
            B.box("mfhd", B.words(0, 1)),
            B.box("traf", B.box("tfhd", B.words(0x2_0018, 1, 1024, 5)), B.box("trun", B.words(0x301, 2, 10, 1024, 5, 1024, 6)))
        )
        let good = builder.file() + fragment + B.box("mdat", [UInt8](repeating: 3, count: 40))
        #expect(readAll(good) == nil)
        let interesting: [UInt8] = [0, 1, 0x7f, 0x80, 0xff]
        for _ in 0..<6000 {
            var bad = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = Int.random(in: 0..<bad.count, using: &random)
                bad[at] =
                    Bool.random(using: &random)
                    ? interesting[Int.random(in: 0..<5, using: &random)] : UInt8.random(in: 0...255, using: &random)
            }
            readAll(bad, allowsTruncation: Bool.random(using: &random))
        }
        for length in 0..<good.count { readAll(Array(good.prefix(length)), allowsTruncation: length % 2 == 0) }
    }
}
