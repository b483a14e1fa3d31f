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
            // as a box: behind its length
            #expect(!contains(clear, Array(name.utf8)), "\(name) is left")
        }
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.dropLast(part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
    }
}
