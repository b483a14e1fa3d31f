// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `The decryption of a file` {
    private static func decrypt(_ bytes: [UInt8], object: Int = 1, _ keys: GivenKeys) async throws -> [UInt8] {
        let decryption = try await MediaDecryption(of: BytesReader(bytes), object: object, keys: keys)
        var sink = BytesSink()
        var done: Int64 = 0
        try decryption.write(to: &sink) { now in
            #expect(now >= done)
            done = now
        }
        if let length = decryption.totalLength { #expect(Int64(sink.bytes.count) == length) }
        return sink.bytes
    }

    @Test(arguments: ClearSamplesFixtures.files)
    func `is an MP4 file with the samples and times of the original`(fixture: ProtectedFixture) async throws {
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let file = try MP4File(BytesReader(try await Self.decrypt(bytes, fixture.keys)))
        for (kind, handler) in [("v", "vide"), ("a", "soun")] {
            guard let expected = fixture.samples(kind) else { continue }
            #expect(try file.digest(of: handler) == expected)
        }
        #expect(file.tracks.allSatisfy { $0.entries.allSatisfy { $0.protection == nil } })
        // the times equal the protected file's
        let original = try MP4File(BytesReader(bytes))
        for track in file.tracks {
            let other = try #require(original.tracks.first { $0.id == track.id })
            var (a, b) = (file.samples(of: track), original.samples(of: other))
            while let sample = try a.next() {
                let expected = try #require(try b.next())
                #expect(sample.decodeTime == expected.decodeTime)
                #expect(sample.compositionOffset == expected.compositionOffset)
                #expect(sample.duration == expected.duration)
                #expect(sample.isSync == expected.isSync)
            }
            #expect(try b.next() == nil)
            #expect(track.editList.edits == other.editList.edits)
        }
    }

    @Test(arguments: ProtectedFixture.payloads)
    func `is the payload of a DCF`(fixture: ProtectedFixture) async throws {
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        if let digest = fixture.entry["plaintext_sha256"]?.string {
            let payload = try await Self.decrypt(bytes, fixture.keys)
            #expect(Hex.encode(SHA256.hash(payload.rawSpan)) == digest)
        } else {
            // several objects, each with its text
            #expect(fixture.name == "dcf/multi-object.dcf")
            let objects = try #require(fixture.entry["objects"]?.array)
            for (number, object) in objects.enumerated() {
                let payload = try await Self.decrypt(bytes, object: number + 1, fixture.keys)
                #expect(Hex.encode(SHA256.hash(payload.rawSpan)) == object["plaintext_sha256"]?.string)
            }
            await #expect(throws: MediaError(.malformed, "")) {
                _ = try await Self.decrypt(bytes, object: objects.count + 1, fixture.keys)
            }
        }
    }

    @Test func `refuses what is not protected, and keys that are none`() async throws {
        let clear = try Fixtures.bytes("media/src/av-h264-aac.mp4")
        await #expect(throws: MediaError(.unsupported, "")) { _ = try await Self.decrypt(clear, GivenKeys()) }
        var keys = GivenKeys()
        for text in [
            "", "1", "1:", "1:00", "00112233445566778899aabbccddee:00112233445566778899aabbccddeeff",
            ":00112233445566778899aabbccddeeff", "*:x0112233445566778899aabbccddeeff",
        ] {
            #expect(throws: MediaError(.badKey, "")) { try keys.add(text) }
        }
        for text in ["1", "*", "group", "00112233-4455-6677-8899-AABBCCDDEEFF"] {
            try keys.add("\(text):00112233445566778899aabbccddeeff")
        }
        for (text, name) in [
            ("cid:film@x", ContentKeyName.content("cid:film@x")), ("https://k.example/1", .address("https://k.example/1")),
        ] {
            guard case .unknown = await GivenKeys().key(name) else { Issue.record("a key that was not given"); continue }
            var one = GivenKeys()
            try one.add("\(text):00112233445566778899aabbccddeeff")
            guard case .granted = await one.key(name) else { Issue.record("no key for \(text)"); continue }
        }
    }
}

enum ClearSamplesFixtures {
    static let files = ProtectedFixture.samples
}
