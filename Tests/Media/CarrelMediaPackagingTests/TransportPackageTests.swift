// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelMediaPackaging
import CarrelTS
import CarrelTesting
import Testing

private let source = "src/av-h264-aac.mp4"

struct `A package of transport streams` {
    private static func options(_ scheme: TransportScheme?) -> PackagingOptions {
        var options = PackagingRun.options(nil)
        options.isTransport = true
        options.transport = scheme
        options.keyURI = "https://keys.example/{kid}"
        return options
    }

    /// ffmpeg's view of a clear stream: the digest of each stream's packets, without picture delimiters.
    private static func frames(_ directory: TemporaryDirectory, _ bytes: [UInt8], _ kind: String) async throws -> String {
        let path = directory.write("clear-\(kind).ts", bytes)
        return try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", path, "-map", "0:\(kind)", "-f", "hash", "-hash", "sha256", "-",
        ])
    }

    private static func expected(_ kind: String) async throws -> String {
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", try Fixtures.path("media/\(source)"), "-map", "0:\(kind)", "-f",
            "hash",
            "-hash", "sha256", "-",
        ])
    }

    private static func playlist(_ run: PackagingRun, _ name: String) throws -> MediaPlaylist {
        let bytes = try run.bytes("\(name).m3u8")
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else { throw Malformed("no media playlist", at: 0) }
        return playlist
    }

    @Test func `in the clear decodes to the pictures of its source`() async throws {
        let run = try await PackagingRun([source], Self.options(nil))
        var all: [UInt8] = []
        for segment in try Self.playlist(run, "video-1").segments { all += try run.bytes(segment.uri) }
        let (found, expected) = (try await Self.frames(run.directory, all, "v"), try await Self.expected("v"))
        #expect(found == expected)
    }

    @Test func `of AES-128 decrypts segment by segment, each with a vector of its own`() async throws {
        var options = Self.options(.aes128)
        options.audioKeys = options.videoKeys
        let run = try await PackagingRun([source], options)
        var vectors: Set<[UInt8]> = []
        var count = 0
        for (name, kind) in [("video-1", "v"), ("audio-1", "a")] {
            var all: [UInt8] = []
            for segment in try Self.playlist(run, name).segments {
                let key = try #require(segment.keys.first)
                #expect(key.method == .aes128 && key.uri == "https://keys.example/00112233445566778899aabbccddeeff")
                let iv = try #require(key.initializationVector)
                vectors.insert(iv)
                count += 1
                let bytes = try run.bytes(segment.uri)
                var cipher = try AESStream(.chainedDecrypt, key: PackagingRun.videoKey.key)
                let start = AESBlock(iv.rawSpan)
                cipher.start(try #require(start))
                let clear = Self.apply(&cipher, bytes)
                let padding = Int(try #require(clear.last))
                #expect((1...16).contains(padding) && clear.suffix(padding).allSatisfy { Int($0) == padding })
                #expect((clear.count - padding) % 188 == 0)
                all += clear.dropLast(padding)
            }
            if kind == "v" {
                let (found, expected) = (try await Self.frames(run.directory, all, "v"), try await Self.expected("v"))
                #expect(found == expected)
            }
        }
        #expect(vectors.count == count)
    }

    private static func apply(_ cipher: inout AESStream, _ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let count = bytes.count
        var elements = bytes.mutableSpan
        var mutable = unsafe elements.mutableBytes
        cipher.apply(to: &mutable, in: 0..<count)
        return bytes
    }

    @Test func `of CISSA descrambles with the keys that its messages name`() async throws {
        var options = Self.options(.cissa)
        options.rotation = 1
        options.videoKeys.append(PackagingRun.audioKey)
        options.contentID = "urn:example:film"
        let run = try await PackagingRun([source], options)
        let playlist = try Self.playlist(run, "video-1")
        #expect(playlist.segments.allSatisfy { $0.keys.isEmpty })
        var all: [UInt8] = []
        for segment in playlist.segments { all += try run.bytes(segment.uri) }
        var named: Set<[UInt8]> = []
        try Self.descramble(&all) { message in
            guard message.contentID == "urn:example:film" else { return nil }
            guard let id = message.keyID(message.current) else { return nil }
            named.insert(id)
            return options.videoKeys.first { $0.id.bytes == id }?.key
        }
        #expect(named.count == 2)
        let (found, expected) = (try await Self.frames(run.directory, all, "v"), try await Self.expected("v"))
        #expect(found == expected)
    }

    private static func descramble(_ bytes: inout [UInt8], key: (KeyMessage) -> Secret?) throws {
        var descrambler = TransportStreamDescrambler()
        var rest = 0..<bytes.count
        while true {
            var elements = bytes.mutableSpan
            var mutable = unsafe elements.mutableBytes
            guard case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&mutable, in: rest) else {
                return
            }
            guard let message, let found = key(message) else { throw Malformed("no message names the key", at: offset) }
            try descrambler.setKey(found, for: parity)
            rest = offset..<rest.upperBound
        }
    }

    @Test func `of SAMPLE-AES names its streams so and is decrypted by its keys`() async throws {
        let run = try await PackagingRun([source], Self.options(.sampleAES))
        for (name, type) in [("video-1", UInt8(0xdb)), ("audio-1", 0xcf)] {
            let playlist = try Self.playlist(run, name)
            for segment in playlist.segments {
                #expect(segment.keys.first?.method == .sampleAES)
                let bytes = try run.bytes(segment.uri)
                #expect(bytes.count % 188 == 0)
            }
            let first = try run.bytes(playlist.segments[0].uri)
            #expect(first[188..<376].contains(type))
            let plain = try await PackagingRun([source], Self.options(nil))
            for (i, segment) in playlist.segments.enumerated() {
                let iv = try #require(segment.keys.first?.initializationVector)
                let clear = try Self.units(run.bytes(segment.uri), iv)
                let expected = try Self.units(plain.bytes("\(name)/\(i + 1).ts"), nil)
                #expect(clear == expected && !clear.isEmpty)
            }
        }
    }

    @Test func `of Shaka Packager in SAMPLE-AES decrypts to the pictures of its source`() async throws {
        let packager = try StreamingPeer.packager.path()
        let directory = TemporaryDirectory()
        let path = try Fixtures.path("media/\(source)")
        try await checkProcess([
            packager, "in=\(path),stream=video,segment_template=\(directory.path)/v$Number$.ts,playlist_name=v.m3u8",
            "--enable_raw_key_encryption", "--keys",
            "label=:key_id=00112233445566778899aabbccddeeff:key=000102030405060708090a0b0c0d0e0f", "--protection_scheme", "cbcs",
            "--clear_lead", "0", "--segment_duration", "2", "--hls_master_playlist_output", directory.file("master.m3u8"),
        ])
        let bytes = try #require(directory.read("v.m3u8"))
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else { throw Malformed("no media playlist", at: 0) }
        #expect(playlist.segments.count == 5)
        var all: [UInt8] = []
        for segment in playlist.segments {
            let iv = try #require(segment.keys.first?.initializationVector)
            let name = segment.uri.split(separator: "/").last.map { String($0) } ?? ""
            for unit in try Self.units(#require(directory.read(name)), iv) { all += unit }
        }
        let raw = directory.write("all.h264", all)
        let pictures = try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", raw, "-f", "hash", "-hash", "sha256", "-",
        ])
        let expected = try await Self.expected("v")
        #expect(pictures == expected)
    }

    /// ffmpeg decrypts the last pictures of a segment with the vector of the next one, and the last segment's not at all: so the
    /// single segment is repeated.
    @Test(arguments: [StreamingPeer.ffmpeg.rawValue, "ffmpeg"]) func `of SAMPLE-AES decodes to its source in ffmpeg`(name: String)
        async throws
    {
        let ffmpeg = name == "ffmpeg" ? try requirePeer(name) : try StreamingPeer.ffmpeg.path()
        var options = Self.options(.sampleAES)
        options.segmentDuration = 60_000
        options.keyURI = "{kid}.key"
        let run = try await PackagingRun([source], options)
        for key in options.videoKeys + options.audioKeys {
            _ = run.directory.write("out/\(key.id).key", key.key.withBytes { [UInt8](copying: $0) })
        }
        for (name, kind) in [("video-1", "v"), ("audio-1", "a")] {
            let playlist = try run.text("\(name).m3u8")
            let segment = "#EXTINF:10.000000,\n\(name)/1.ts\n"
            try #require(playlist.contains("METHOD=SAMPLE-AES") && playlist.contains(segment))
            let twice = playlist.replacing(segment, with: "\(segment)#EXT-X-DISCONTINUITY\n\(segment)")
            let path = run.directory.write("out/twice.m3u8", Array(twice.utf8))
            func digests(_ words: [String]) async throws -> [Substring] {
                let output = ["-map", "0:\(kind)", "-fps_mode", "passthrough", "-f", "framemd5", "-"]
                let result = try await checkProcess([ffmpeg, "-v", "fatal", "-nostdin"] + words + output)
                return result.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
            }
            let found = try await digests(["-allowed_extensions", "ALL", "-i", path])
            let clear = try await digests(["-i", try Fixtures.path("media/\(source)")])
            // the edit list of the source hides the frame that primes the decoder
            let presented = found.dropFirst(kind == "a" ? 1 : 0).prefix(clear.count)
            #expect(presented == clear[...] && clear.count >= 250, "\(kind): \(found.count)")
        }
    }

    /// The access units of a stream's pictures or sound, decrypted when there is a vector.
    private static func units(_ bytes: [UInt8], _ iv: [UInt8]?) throws -> [[UInt8]] {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var coding: ElementaryStream.Coding?
        var found: [[UInt8]] = []
        let start = iv.flatMap { AESBlock($0.rawSpan) } ?? AESBlock(high: 0, low: 0)
        var cipher = try SampleAES(.decrypt, key: PackagingRun.videoKey.key, iv: start)
        var other = try SampleAES(.decrypt, key: PackagingRun.audioKey.key, iv: start)
        while let event = demuxer.next() {
            switch event {
            case .program(let map): coding = map.streams.first?.coding
            case .unit(var unit):
                if iv != nil, let coding {
                    if coding == .aac {
                        try other.apply(to: &unit.data, coding: coding)
                    } else {
                        try cipher.apply(to: &unit.data, coding: coding)
                    }
                }
                found.append(unit.data)
            case .fault(let fault): throw Malformed("\(fault)", at: 0)
            default: break
            }
        }
        return found
    }

    @Test func `names the key messages of a scrambled transport stream`() async throws {
        var options = PackagingRun.options(nil)
        options.isTransport = true
        options.transport = .cissa
        options.contentID = "urn:example:film"
        let run = try await PackagingRun(["src/av-h264-aac.mp4"], options)
        let facts = try MediaInspection.describe(BytesReader(try run.bytes("video-1/1.ts")))
        #expect(facts["scrambling"]?["mode"]?.string == "DVB-CISSA")
        #expect(facts["scrambling"]?["keys"]?.array?.isEmpty == false)
        let message = try #require(facts["keyMessages"]?.array?.first)
        #expect(message["contentId"]?.string == "urn:example:film")
        let protection = try #require(facts["protection"])
        #expect(protection["keyIds"]?.array?.first?.string == "00112233445566778899aabbccddeeff")
        #expect(protection["kinds"]?.array?.first?.string == "scrambled transport stream")
        // of packets that cannot be read, the clock tells the duration
        #expect(facts["duration"]?.double ?? 0 > 1)
    }
}
