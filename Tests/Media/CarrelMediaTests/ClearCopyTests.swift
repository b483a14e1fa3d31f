// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `A clear copy of a file of Common Encryption` {
    private static func copy(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> [UInt8] {
        let file = try MP4File(BytesReader(bytes))
        var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: keys))
        var sink = BytesSink()
        try copy.write(to: &sink)
        return sink.bytes
    }

    @Test(arguments: ProtectedFixture.named("cenc/"))
    func `has the samples of the original, says that it is clear, and moves nothing`(fixture: ProtectedFixture) async throws {
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let clear = try await Self.copy(bytes, fixture.keys)
        #expect(clear.count == bytes.count)
        let file = try MP4File(BytesReader(clear))
        for (kind, handler) in [("v", "vide"), ("a", "soun")] {
            #expect(try file.digest(of: handler) == fixture.samples(kind))
        }
        for track in file.tracks {
            for entry in track.entries {
                #expect(entry.protection == nil)
                #expect(!["encv", "enca"].contains("\(entry.type)"))
            }
        }
        #expect(file.systems.isEmpty)
        #expect(!file.brands.contains("piff"))
        var boxes: [String] = []
        try file.forEachBox { box, _ in boxes.append("\(box.type)") }
        for name in ["senc", "sinf", "pssh", "schm", "tenc"] {
            // as a box: after its length
            #expect(!contains(clear, Array(name.utf8)), "\(name) is left")
        }
    }

    @Test(arguments: [0, 1, 8, 15])
    func `is refused where samples of two tracks overlap`(distance: Int64) async throws {
        let fixture = try #require(ProtectedFixture.named("cenc/").first { $0.name == "cenc/av-nonfrag.cenc.mp4" })
        var bytes = try Fixtures.bytes("media/\(fixture.name)")
        let file = try MP4File(BytesReader(bytes))
        let video = try #require(file.tracks.firstIndex { $0.kind == "vide" })
        var samples = file.samples(of: file.tracks[video])
        var sample = try #require(try samples.next())
        while sample.size < 64 { sample = try #require(try samples.next()) }
        // the first chunk of the audio begins inside a picture
        let lists = bytes.indices.filter { bytes[$0...].starts(with: Array("stco".utf8)) }
        try #require(lists.count == 2)
        let place = lists[1 - video] + 12
        let offset = UInt32(sample.range.upperBound - 16 + distance)
        for i in 0..<4 { bytes[place + i] = UInt8(truncatingIfNeeded: offset >> (24 - 8 * UInt32(i))) }
        let error = await #expect(throws: Malformed.self) { _ = try await Self.copy(bytes, fixture.keys) }
        #expect(error?.what == "samples overlap")
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.dropLast(part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
    }
}
