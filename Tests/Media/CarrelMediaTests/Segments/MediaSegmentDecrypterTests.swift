// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDASH
import CarrelHLS
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import ProtectedMedia
import Testing

struct `The decrypter of one segment` {
    /// Feeds a segment in pieces.
    private static func run(
        _ decrypter: consuming MediaSegmentDecrypter,
        _ bytes: [UInt8],
        pieces: Int = 4099
    ) async throws -> [UInt8] {
        var decrypter = decrypter
        var sink = BytesSink()
        var at = 0
        while at < bytes.count {
            let end = min(bytes.count, at + pieces)
            try await decrypter.decrypt(bytes.rawSpan.extracting(at..<end), to: &sink)
            at = end
        }
        try await decrypter.finish(to: &sink)
        return sink.bytes
    }

    private static func playlist(_ name: String) throws -> MediaPlaylist {
        let bytes = try Fixtures.bytes("media/\(name)")
        guard case .media(let playlist) = try Playlist.read(bytes.rawSpan, strictness: .lenient).playlist else {
            throw Malformed("no media playlist", at: 0)
        }
        return playlist
    }

    private static func part(_ uri: String, _ range: MediaSegment.ByteRange?, in folder: String) throws -> [UInt8] {
        let bytes = try Fixtures.bytes("media/\(folder)\(uri)")
        guard let range else { return bytes }
        return Array(bytes[Int(range.offset)..<Int(range.offset + range.length)])
    }

    /// The keys next to a playlist, by their addresses in it.
    private static func keys(_ playlist: MediaPlaylist, in folder: String) throws -> GivenKeys {
        var keys = GivenKeys()
        let lines = playlist.segments.flatMap { $0.keys + ($0.initialization?.keys ?? []) }
        for uri in Set(lines.map(\.uri)) where !uri.hasPrefix("data:") {
            keys.add(Secret(try Fixtures.bytes("media/\(folder)\(uri)")), for: .address(uri))
        }
        return keys
    }

    @Test(arguments: ProtectedFixture.wholeSegments, [1 << 20, 1000, 7])
    func `takes a key line and the number of the segment`(fixture: ProtectedFixture, pieces: Int) async throws {
        let playlist = try Self.playlist(fixture.name)
        let keys = try Self.keys(playlist, in: "hls/")
        let expected = try #require(fixture.entry["segments"]?.array)
        #expect(expected.count == playlist.segments.count)
        for (i, segment) in playlist.segments.enumerated() {
            let number = playlist.sequenceNumber(ofSegmentAt: i)
            let decrypter = try await MediaSegmentDecrypter(segment.keys.first, segment: number, keys: keys)
            let bytes = try Self.part(segment.uri, segment.byteRange, in: "hls/")
            let clear = try await Self.run(decrypter, bytes, pieces: pieces)
            #expect(Hex.encode(SHA256.hash(clear.rawSpan)) == expected[i]["plaintext_sha256"]?.string)
        }
    }

    @Test func `takes keys of 32 bytes, and initialization sections with keys of their own`() async throws {
        let folder = "ext/shaka-player/hls-aes-256/"
        let playlist = try Self.playlist(folder + "media.m3u8")
        let keys = try Self.keys(playlist, in: folder)
        var found: [String: String] = [:]
        for (i, segment) in playlist.segments.enumerated() {
            let map = try #require(segment.initialization)
            for (uri, key) in [(map.uri, map.keys.first), (segment.uri, segment.keys.first)] {
                let number = playlist.sequenceNumber(ofSegmentAt: i)
                let decrypter = try await MediaSegmentDecrypter(key, segment: number, keys: keys)
                let clear = try await Self.run(decrypter, try Self.part(uri, nil, in: folder))
                found[folder + uri] = Hex.encode(SHA256.hash(clear.rawSpan))
            }
        }
        let expected = ProtectedFixture.aes256.map { ($0.name, $0.entry["plaintext_sha256"]?.string ?? "") }
        #expect(expected.count == 6)
        #expect(found == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test func `decrypts samples of fragmented MP4 under the key line's key`() async throws {
        let fixture = try ProtectedFixture.sampleCounter
        let folder = "ext/shaka-player/hls-sample-aes/"
        let playlist = try Self.playlist(fixture.name)
        var whole: [UInt8] = []
        for (i, segment) in playlist.segments.enumerated() {
            let map = try #require(segment.initialization)
            let decrypter = try await MediaSegmentDecrypter(
                segment.keys.first,
                segment: playlist.sequenceNumber(ofSegmentAt: i),
                initialization: try Self.part(map.uri, map.byteRange, in: folder),
                keys: GivenKeys()
            )
            if i == 0 { whole += decrypter.clearInitialization }
            let bytes = try Self.part(segment.uri, segment.byteRange, in: folder)
            let clear = try await Self.run(decrypter, bytes)
            #expect(clear.count == bytes.count)
            whole += clear
        }
        let file = try MP4File(BytesReader(whole))
        #expect(try file.digest(of: "vide") == fixture.samples("v"))
        #expect(file.tracks.allSatisfy { $0.entries.allSatisfy { $0.protection == nil } })
    }

    @Test func `decrypts samples of a transport stream`() async throws {
        let fixture = try ProtectedFixture.sampleStream
        let playlist = try Self.playlist(fixture.name)
        for (i, segment) in playlist.segments.enumerated() {
            let key = try #require(segment.keys.first)
            var keys = GivenKeys()
            keys.add(Secret(try Fixtures.bytes("media/hls/sample-aes/saes.key")), for: .address(key.uri))
            let number = playlist.sequenceNumber(ofSegmentAt: i)
            let encrypted = try Self.part(segment.uri, segment.byteRange, in: "hls/sample-aes/")
            let expected = try Fixtures.bytes("media/hls/sample-aes/clear/seg-\(i).ts")
            let decrypter = try await MediaSegmentDecrypter(key, segment: number, keys: keys)
            let units = try TransportUnits.list(try await Self.run(decrypter, encrypted, pieces: 5))
            #expect(!units.isEmpty)
            let theirs = try TransportUnits.list(expected)
            for pid in Set(theirs.map(\.pid)) {
                #expect(units.filter { $0.pid == pid }.map(\.data) == theirs.filter { $0.pid == pid }.map(\.data))
            }
        }
    }

    // MARK: - DASH

    /// The segments of each representation, after their initialization segment.
    private static func representations(
        _ manifest: String
    ) throws -> [(stream: MPDStream, initialization: [UInt8], segments: [[UInt8]])] {
        let bytes = try Fixtures.bytes("media/\(manifest)")
        let folder = String(manifest[...(manifest.lastIndex(of: "/") ?? manifest.startIndex)])
        func read(_ url: String, _ range: MPDByteRange?) throws -> [UInt8] {
            let file = try Fixtures.bytes("media/\(folder)\(url)")
            guard let range else { return file }
            let end = range.length.map { Int(range.offset + $0) } ?? file.count
            return Array(file[Int(range.offset)..<end])
        }
        return try MPD.parse(bytes.rawSpan).streams().map { stream in
            let (url, range) = try #require(stream.initialization)
            let segments = try stream.segments()
            // of one, the first five segments are here
            let count = manifest.contains("dash-clearkey") ? 5 : try #require(segments.count)
            return (
                stream, try read(url, range),
                try (0..<count).compactMap { i in try segments[i].map { try read($0.url, $0.byteRange) } }
            )
        }
    }

    @Test(arguments: ProtectedFixture.dash, [1, 1000, 1 << 20])
    func `takes an initialization segment and a track`(fixture: ProtectedFixture, pieces: Int) async throws {
        var all: [String: [UInt8]] = [:]
        // two periods of the same film, one in the clear: each has all samples
        let hasPeriods = fixture.name.contains("multiperiod")
        for (stream, initialization, segments) in try Self.representations(fixture.name) {
            let kind = stream.properties.mimeType?.hasPrefix("video") == true ? "v" : "a"
            let track = try #require(try MP4File(BytesReader(initialization)).tracks.first)
            // the base of one file is its initialization segment too
            let isOneFile = stream.information?.kind == .base
            var whole: [UInt8] = []
            for bytes in segments {
                let decrypter = try await MediaSegmentDecrypter(
                    initialization: initialization,
                    track: track.id,
                    keys: fixture.keys
                )
                if whole.isEmpty, !isOneFile { whole = decrypter.clearInitialization }
                whole += try await Self.run(decrypter, bytes, pieces: pieces)
            }
            let file = try MP4File(BytesReader(whole))
            #expect(file.tracks.allSatisfy { $0.entries.allSatisfy { $0.protection == nil } })
            var samples = file.samples(of: try #require(file.tracks.first))
            if hasPeriods { all[kind] = [] }
            while let sample = try samples.next() { all[kind, default: []] += try file.reader.readAll(sample.range) }
            if hasPeriods { #expect(try file.digest(of: kind == "v" ? "vide" : "soun") == fixture.samples(kind)) }
        }
        #expect(!all.isEmpty)
        for (kind, samples) in all { #expect(Hex.encode(SHA256.hash(samples.rawSpan)) == fixture.samples(kind)) }
    }

    @Test(arguments: ProtectedFixture.dash)
    func `makes the same of segments as a stream of fragments does`(fixture: ProtectedFixture) async throws {
        for (stream, initialization, segments) in try Self.representations(fixture.name) {
            let isOneFile = stream.information?.kind == .base
            var fragments = ClearFragments()
            var clear: [UInt8] = []
            for bytes in (isOneFile ? [] : [initialization]) + segments {
                fragments.append(bytes.rawSpan)
                while let event = try fragments.next() {
                    switch event {
                    case .movie(let range), .fragment(let range):
                        try await fragments.resolveKeys(from: fixture.keys)
                        clear.append(copying: fragments.bytes.extracting(range))
                    case .box(_, let range), .data(let range), .sample(_, _, let range):
                        clear.append(copying: fragments.bytes.extracting(range))
                    }
                }
            }
            var expected: [UInt8] = []
            for bytes in segments {
                let decrypter = try await MediaSegmentDecrypter(initialization: initialization, keys: fixture.keys)
                if expected.isEmpty, !isOneFile { expected = decrypter.clearInitialization }
                expected += try await Self.run(decrypter, bytes)
            }
            #expect(clear == expected)
        }
    }

    @Test func `takes the segment encryption of an MPD`() async throws {
        let folder = "ext/shaka-player/dash-aes-128/"
        var found: [String: String] = [:]
        let bytes = try Fixtures.bytes("media/\(folder)dash.mpd")
        let stream = try #require(try MPD.parse(bytes.rawSpan).streams().first)
        let encryption = try #require(stream.properties.contentProtections.compactMap(\.segmentEncryption).first)
        var keys = GivenKeys()
        keys.add(Secret(try Fixtures.bytes("media/\(folder)license")), for: .address("https://media.example/a/license"))
        var urls = [try #require(stream.initialization).url]
        let segments = try stream.segments()
        // the MPD names one more than there are
        for i in 0..<4 { urls.append(try #require(segments[i]).url) }
        for (i, url) in urls.enumerated() {
            let decrypter = try await MediaSegmentDecrypter(
                encryption,
                segment: max(0, i - 1),
                values: URLTemplate.Values(representationID: stream.id, bandwidth: stream.bandwidth, number: Int64(i)),
                url: "https://media.example/a/dash.mpd",
                keys: keys
            )
            let clear = try await Self.run(decrypter, try Fixtures.bytes("media/\(folder)\(url)"))
            found[folder + url] = Hex.encode(SHA256.hash(clear.rawSpan))
        }
        let expected = ProtectedFixture.segmentEncryption.map { ($0.name, $0.entry["plaintext_sha256"]?.string ?? "") }
        #expect(expected.count == 5)
        #expect(found == Dictionary(uniqueKeysWithValues: expected))
    }

    // MARK: - Refusals

    @Test func `passes segments in the clear`() async throws {
        let bytes: [UInt8] = [1, 2, 3]
        let decrypter = try await MediaSegmentDecrypter(nil, segment: 1, keys: GivenKeys())
        #expect(try await Self.run(decrypter, bytes) == bytes)
    }

    @Test func `refuses keys that are missing or wrong, and segments that are cut off`() async throws {
        let playlist = try Self.playlist("hls/aac-packed-explicit-iv.m3u8")
        let segment = playlist.segments[0]
        let key = try #require(segment.keys.first)
        let bytes = try Self.part(segment.uri, segment.byteRange, in: "hls/")
        await #expect(throws: MediaError(.missingKey, "")) {
            _ = try await MediaSegmentDecrypter(key, segment: 0, keys: GivenKeys())
        }
        for count in [16, 32] {
            var given = GivenKeys()
            given.add(Secret([UInt8](repeating: 1, count: count)), for: .address(key.uri))
            let keys = given
            await #expect(throws: MediaError(.wrongKey, "")) {
                _ = try await Self.run(try await MediaSegmentDecrypter(key, segment: 0, keys: keys), bytes)
            }
        }
        let own = try Self.keys(playlist, in: "hls/")
        await #expect(throws: MediaError(.malformed, "")) {
            _ = try await Self.run(try await MediaSegmentDecrypter(key, segment: 0, keys: own), Array(bytes.dropLast(3)))
        }
        var samples = key
        samples.method = .sampleAES
        for short in [[UInt8](), [0x47], [1, 2, 3, 4, 5, 6, 7, 8, 9]] {
            do {
                let clear = try await Self.run(try await MediaSegmentDecrypter(samples, segment: 0, keys: own), short)
                #expect(short.isEmpty && clear.isEmpty)
            } catch let error as MediaError {
                #expect(error.code == (short.count == 1 ? .malformed : .unsupported))
            }
        }
        let unknown = EncryptionKey(method: EncryptionKey.Method(rawValue: "AES-999"), uri: key.uri)
        await #expect(throws: MediaError(.unsupported, "")) {
            _ = try await MediaSegmentDecrypter(unknown, segment: 0, keys: own)
        }
    }

    @Test func `refuses tracks that are not there, and fragments cut at any byte`() async throws {
        let folder = "media/dash/timeline-cenc/"
        let initialization = try Fixtures.bytes(folder + "a-init.mp4")
        let fixture = try #require(ProtectedFixture.dash.first { $0.name.contains("timeline") })
        await #expect(throws: MediaError(.unsupported, "")) {
            _ = try await MediaSegmentDecrypter(initialization: initialization, track: 77, keys: fixture.keys)
        }
        await #expect(throws: MediaError(.missingKey, "")) {
            _ = try await MediaSegmentDecrypter(initialization: initialization, keys: GivenKeys())
        }
        let bytes = try Fixtures.bytes(folder + "a-0.m4s")
        for count in stride(from: 1, to: bytes.count, by: 311) {
            let decrypter = try await MediaSegmentDecrypter(initialization: initialization, keys: fixture.keys)
            do {
                _ = try await Self.run(decrypter, Array(bytes.prefix(count)), pieces: 1 << 20)
                // between two boxes
                #expect(count < 2000)
            } catch let error as Malformed {
                #expect(error.what.contains("cut off") || error.what.contains("ends before"), "\(error)")
            }
        }
    }
}
