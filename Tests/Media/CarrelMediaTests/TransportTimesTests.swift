// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `The times of a transport stream` {
    /// Checks that decoding times increase in each stream, and comes before presentation; returns the units.
    @discardableResult
    private static func check(_ bytes: [UInt8]) throws -> [AccessUnit] {
        var last: [UInt16: Int64] = [:]
        let units = try TransportUnits.list(bytes)
        for unit in units {
            #expect(unit.decodeTime <= unit.presentationTime)
            if let last = last[unit.pid] { #expect(unit.decodeTime > last, "stream \(unit.pid)") }
            last[unit.pid] = unit.decodeTime
        }
        return units
    }

    /// Makes a stream of a file, and checks it.
    private static func file(_ bytes: [UInt8]) async throws -> [AccessUnit] {
        try check(try await TransportUnits.stream(of: bytes))
    }

    private static func remux(_ bytes: [UInt8]) throws -> [UInt8] {
        var remux = SegmentRemux([SegmentRemux.Stream()])
        var sink = BytesSink()
        remux.append(bytes.rawSpan)
        remux.end()
        try remux.write(to: &sink)
        return sink.bytes
    }

    /// Fragments whose runs have signed offsets, less by that much from the second run on.
    private static func shifted(_ file: [UInt8], by change: Int32) -> [UInt8] {
        var file = file
        let runs = file.indices.filter { file[$0...].starts(with: Array("trun".utf8)) }
        for (number, run) in runs.enumerated() {
            let flags = file.rawSpan.u32(at: run + 4) & 0xff_ffff
            guard flags & 0x800 != 0 else { continue }
            file[run + 4] = 1
            let count = Int(file.rawSpan.u32(at: run + 8))
            let length = (flags >> 8 & 15).nonzeroBitCount * 4
            var at = run + 12 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0) + length - 4
            for _ in 0..<count where number > 0 {
                let offset = Int32(bitPattern: file.rawSpan.u32(at: at)) - change
                for i in 0..<4 { file[at + i] = UInt8(truncatingIfNeeded: offset >> (24 - 8 * Int32(i))) }
                at += length
            }
        }
        return file
    }

    @Test(arguments: ["video.frag.mp4", "av.frag.mp4", "video-hevc.frag.mp4"])
    func `rise in each stream`(name: String) async throws {
        let bytes = try Fixtures.bytes("media/src/\(name)")
        let units = try Self.check(Self.remux(bytes))
        #expect(units.count >= 100)
        #expect(try await Self.file(bytes).count == units.count)
    }

    @Test func `rise when later fragments present pictures before the time of their decoding`() throws {
        let bytes = try Fixtures.bytes("media/src/video.frag.mp4")
        let file = try MP4File(BytesReader(bytes))
        let track = try #require(file.tracks.first)
        let early = Self.shifted(bytes, by: Int32(track.timescale / 5))
        try #require(early != bytes)
        var samples = try MP4File(BytesReader(early)).samples(of: track)
        var least: Int64 = 0
        while let sample = try samples.next() { least = min(least, sample.compositionOffset) }
        try #require(least < 0)
        try Self.check(Self.remux(early))
    }

    @Test(arguments: [1, 3, 40])
    func `rise when pictures late in a file are presented before the time of their decoding`(pictures: Int64) async throws {
        let bytes = try Fixtures.bytes("media/src/video.mp4")
        let late = try EditedMovie.make(bytes, kinds: ["vide"]) { _ in
            []
        } change: { _, number, sample in
            if number >= 60 { sample.compositionOffset -= pictures * sample.duration }
        }
        let units = try await Self.file(late)
        #expect(units.count >= 100)
        // the presentation times equal the file's, from ten seconds
        let file = try MP4File(BytesReader(late))
        let track = try #require(file.tracks.first)
        var samples = file.samples(of: track)
        for unit in units {
            let sample = try #require(try samples.next())
            let time = (sample.decodeTime + sample.compositionOffset) * 90_000 / Int64(track.timescale)
            #expect(abs(unit.presentationTime - 900_000 - time) <= 1)
        }
    }

    @Test func `rise when pictures have no duration`() async throws {
        let bytes = try Fixtures.bytes("media/src/video.mp4")
        let dense = try EditedMovie.make(bytes, kinds: ["vide"]) { _ in
            []
        } change: { _, number, sample in
            if number % 3 != 0 { sample.duration = 0 }
            sample.compositionOffset = 0
        }
        #expect(try await Self.file(dense).count >= 100)
    }

    @Test func `continue where fragments begin another timeline`() throws {
        let bytes = try Fixtures.bytes("media/src/video.frag.mp4")
        let first = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("moof".utf8)) }) - 4
        let units = try TransportUnits.list(Self.remux(bytes + bytes[first...]))
        let half = units.count / 2
        for part in [units[..<half], units[half...]] {
            for (a, b) in zip(part, part.dropFirst()) { #expect(a.decodeTime < b.decodeTime) }
        }
        #expect(units[half].presentationTime == units[0].presentationTime)
    }
}
