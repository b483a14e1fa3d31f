// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import ProtectedMedia
import Testing

struct `The decryption of a playlist` {
    private static func decrypt(_ path: String, _ keys: GivenKeys, as output: MediaDecryption.Output = .same) async throws
        -> [UInt8]
    {
        let decryption = try await MediaDecryption(of: try LocalFile(path), as: output, keys: keys)
        var sink = BytesSink()
        var done: Int64 = 0
        try decryption.write(to: &sink) { done = $0 }
        #expect(decryption.totalLength == done)
        return sink.bytes
    }

    /// An expected segment, in the order of the playlist.
    private struct Expected {
        var digest: String
        var size: Int
    }

    private static func check(_ clear: [UInt8], _ segments: [Expected]) throws {
        var at = 0
        for (number, segment) in segments.enumerated() {
            try #require(clear.count - at >= segment.size)
            #expect(
                Hex.encode(SHA256.hash(clear.rawSpan.extracting(at..<at + segment.size))) == segment.digest,
                "segment \(number)"
            )
            at += segment.size
        }
        #expect(at == clear.count)
    }

    @Test(arguments: ProtectedFixture.wholeSegments)
    func `equals its concatenated segments`(fixture: ProtectedFixture) async throws {
        // the keys are next to the playlist
        let clear = try await Self.decrypt(try Fixtures.path("media/\(fixture.name)"), GivenKeys())
        let segments = try #require(fixture.entry["segments"]?.array).map {
            Expected(digest: try #require($0["plaintext_sha256"]?.string), size: try #require($0["plaintext_size"]?.int))
        }
        try Self.check(clear, segments)
    }

    @Test func `takes AES-256 in both modes, and an encrypted initialization section`() async throws {
        let prefix = "ext/shaka-player/hls-aes-256/"
        let names = ["init.mp4"] + (0..<5).map { "segment_\($0).m4s" }
        let segments = try names.map { name in
            let entry = try #require(ProtectedFixture.all.first { $0.name == prefix + name }).entry
            return Expected(
                digest: try #require(entry["plaintext_sha256"]?.string),
                size: try #require(entry["plaintext_size"]?.int)
            )
        }
        let folder = try Fixtures.path("media/\(prefix)init.mp4").dropLast("init.mp4".count)
        let playlist = try #require(try playlistName(String(folder)))
        let clear = try await Self.decrypt(folder + playlist, GivenKeys())
        try Self.check(clear, segments)
    }

    private func playlistName(_ folder: String) throws -> String? {
        ["media.m3u8", "index.m3u8", "playlist.m3u8", "hls.m3u8"].first { Fixtures.bytes(at: folder + $0) != nil }
    }

    @Test func `decrypts samples of fragmented MP4 under the key of the key line`() async throws {
        let fixture = try ProtectedFixture.sampleCounter
        let path = try Fixtures.path("media/\(fixture.name)")
        let file = try MP4File(BytesReader(try await Self.decrypt(path, GivenKeys())))
        #expect(try file.digest(of: "vide") == fixture.samples("v"))
        let stream = try await Self.decrypt(path, GivenKeys(), as: .transportStream)
        #expect(stream.count % 188 == 0)
        #expect(stream.count > 785_956)
    }

    @Test func `decrypts samples of transport streams and keeps their times`() async throws {
        let path = try Fixtures.path("media/hls/sample-aes/stream.m3u8")
        let fixture = try ProtectedFixture.sampleStream
        let clear = try await Self.decrypt(path, fixture.keys)
        var expected: [AccessUnit] = []
        for number in 0..<100 {
            guard let bytes = Fixtures.bytes(at: path.dropLast("stream.m3u8".count) + "clear/seg-\(number).ts") else { break }
            expected += try Self.units(of: bytes)
        }
        let units = try Self.units(of: clear)
        #expect(units.count == expected.count)
        #expect(units.count > 500)
        for pid in Set(expected.map(\.pid)) {
            let (ours, theirs) = (units.filter { $0.pid == pid }, expected.filter { $0.pid == pid })
            #expect(ours.map(\.data) == theirs.map(\.data))
            #expect(ours.map(\.presentationTime) == theirs.map(\.presentationTime))
        }
    }

    @Test func `has one movie when the key of its samples changes`() async throws {
        let directory = TemporaryDirectory()
        var lines = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:9\n"
        var clear: [UInt8] = []
        for (number, key) in [UInt8(1), 2, 1].enumerated() {
            var movie = ProtectedMovie()
            movie.defaults.key = key
            movie.samples = ProtectedMovie.samples(UInt64(number), hasParts: false, [40, 17, 33, 160])
            clear += movie.clear
            let bytes = try movie.fragments()
            let start = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("moof".utf8)) }) - 4
            if number == 0 { directory.write("init.mp4", Array(bytes[..<start])) }
            directory.write("\(number).m4s", Array(bytes[start...]))
            directory.write("\(key).key", movie.defaults.keyBytes)
            lines += "#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI=\"\(key).key\"\n"
            // some packagers name the movie again after each key line
            if number != 1 { lines += "#EXT-X-MAP:URI=\"init.mp4\"\n" }
            lines += "#EXTINF:9,\n\(number).m4s\n"
        }
        let path = directory.write("list.m3u8", lines + "#EXT-X-ENDLIST\n")
        let bytes = try await Self.decrypt(path, GivenKeys())
        #expect(bytes.indices.count { bytes[$0...].starts(with: Array("moov".utf8)) } == 1)
        let file = try MP4File(BytesReader(bytes))
        var samples = file.samples(of: try #require(file.tracks.first))
        var found: [UInt8] = []
        while let sample = try samples.next() { found += bytes[Int(sample.offset)..<Int(sample.range.upperBound)] }
        #expect(found == clear)
    }

    private static func units(of bytes: [UInt8]) throws -> [AccessUnit] {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var units: [AccessUnit] = []
        while let event = demuxer.next() {
            if case .unit(let unit) = event { units.append(unit) }
            if case .fault(let fault) = event { Issue.record("\(fault)") }
        }
        return units
    }

    @Test func `refuses files outside its folder, other lists and wrong keys`() async throws {
        let directory = TemporaryDirectory()
        directory.write("key", [UInt8](repeating: 1, count: 16))
        directory.write("a.ts", [UInt8](repeating: 0x47, count: 32))
        func list(_ lines: String) -> String {
            directory.write("list.m3u8", "#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:9\n\(lines)#EXT-X-ENDLIST\n")
        }
        let refused: [(String, MediaError.Code)] = [
            ("#EXTINF:9,\n../a.ts\n", .unsupported), ("#EXTINF:9,\n%2e%2e/a.ts\n", .unsupported),
            ("#EXTINF:9,\n/etc/passwd\n", .unsupported), ("#EXTINF:9,\nfile:///etc/passwd\n", .unsupported),
            ("#EXTINF:9,\nhttp://example.com/a.ts\n", .unsupported), ("#EXTINF:9,\nmissing.ts\n", .unavailable),
            ("#EXT-X-KEY:METHOD=AES-128,URI=\"other\"\n#EXTINF:9,\na.ts\n", .missingKey),
            ("#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n#EXTINF:9,\na.ts\n", .wrongKey),
            (
                "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"com.apple.streamingkeydelivery\",KEYFORMATVERSIONS=\"1\",URI=\"skd://1\"\n#EXTINF:9,\na.ts\n",
                .unsupported
            ),
            ("#EXT-X-BYTERANGE:33@0\n#EXTINF:9,\na.ts\n", .malformed), ("", .unsupported),
        ]
        for (lines, code) in refused {
            let path = list(lines)
            do {
                _ = try await Self.decrypt(path, GivenKeys())
                Issue.record("accepted: \(lines)")
            } catch let error as MediaError {
                #expect(error.code == code, "\(lines): \(error)")
            } catch {
                Issue.record("\(lines): \(error)")
            }
        }
    }
}
