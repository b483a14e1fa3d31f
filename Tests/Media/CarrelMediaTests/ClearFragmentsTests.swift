// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `Fragments that arrive in pieces` {
    /// The clear stream, and the concatenated samples of each track.
    private static func decrypt(
        _ stream: [UInt8],
        in pieces: Int,
        _ source: GivenKeys
    ) async throws -> (bytes: [UInt8], samples: [String: [UInt8]]) {
        var fragments = ClearFragments()
        var out: [UInt8] = []
        var samples: [String: [UInt8]] = [:]
        var at = 0
        while true {
            while let event = try fragments.next() {
                switch event {
                case .movie(let range), .fragment(let range):
                    try await fragments.resolveKeys(from: source)
                    out.append(copying: fragments.bytes.extracting(range))
                case .box(_, let range), .data(let range): out.append(copying: fragments.bytes.extracting(range))
                case .sample(let track, let sample, let range):
                    #expect(range.count == sample.size)
                    out.append(copying: fragments.bytes.extracting(range))
                    samples[fragments.tracks[track].kind, default: []].append(copying: fragments.bytes.extracting(range))
                }
            }
            guard at < stream.count else { break }
            let end = min(stream.count, at + pieces)
            fragments.append(stream.rawSpan.extracting(at..<end))
            at = end
            if at == stream.count { fragments.end() }
        }
        return (out, samples)
    }

    private static let files = ProtectedFixture.named("cenc/", "ext/media3/sample_fragmented_clearkey").filter {
        !["nonfrag", "keyroll", "selective", "constiv", "2-8"].contains(where: $0.name.contains)
    }

    @Test(arguments: files, [1, 4099, 1 << 20])
    func `are the clear copy of the file, whatever the pieces`(fixture: ProtectedFixture, pieces: Int) async throws {
        let stream = try Fixtures.bytes("media/\(fixture.name)")
        let (bytes, samples) = try await Self.decrypt(stream, in: pieces, fixture.keys)
        for (kind, handler) in [("v", "vide"), ("a", "soun")] {
            // one fixture names the samples of its picture alone
            guard let expected = fixture.samples(kind) else { continue }
            #expect(samples[handler].map { Hex.encode(SHA256.hash($0.rawSpan)) } == expected)
        }
        #expect(fixture.samples("v") ?? fixture.samples("a") != nil)
        let file = try MP4File(BytesReader(stream))
        var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: fixture.keys))
        var sink = BytesSink()
        try copy.write(to: &sink)
        #expect(bytes == sink.bytes)
    }

    @Test func `that end early, or lack a key, are refused by name`() async throws {
        let fixture = try #require(Self.files.first { $0.name == "cenc/av.cenc.mp4" })
        let stream = try Fixtures.bytes("media/\(fixture.name)")
        await #expect(throws: MediaError(.missingKey, "")) { _ = try await Self.decrypt(stream, in: 4096, GivenKeys()) }
        for length in stride(from: 1, to: stream.count - 1, by: 997) {
            // a cut between fragments is an end like any other
            let cut = Array(stream.prefix(length))
            do { _ = try await Self.decrypt(cut, in: 4096, fixture.keys) } catch let error as Malformed {
                #expect(error.what.contains("cut off") || error.what.contains("ends before"), "\(error)")
            }
        }
    }
}
