// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import ProtectedMedia
import Testing

private let source = "src/av-h264-aac.mp4"
private let hevcSource = "src/av-hevc-aac.mp4"

struct `A package` {
    private static let layouts: [PackagingOptions.Layout] = [.segments, .ranges]

    @Test(arguments: layouts)
    func `has the samples of its source, in files or in ranges of one`(layout: PackagingOptions.Layout) async throws {
        for name in [source, hevcSource] {
            let run = try await PackagingRun([name], PackagingRun.options(nil, layout))
            let path = try Fixtures.path("media/\(name)")
            for track in run.summary.tracks {
                let handler = track.kind == "video" ? "vide" : "soun"
                let file = try MP4File(BytesReader(run.whole(track)))
                #expect(try file.digest(of: handler) == PackagingRun.digest(path, handler))
                #expect(track.segmentCount > 1)
                #expect(file.systems.isEmpty)
            }
        }
    }

    @Test(arguments: CommonEncryptionScheme.allCases, layouts)
    func `decrypts to the samples of its source`(scheme: CommonEncryptionScheme, layout: PackagingOptions.Layout) async throws {
        for name in [source, hevcSource] {
            let run = try await PackagingRun([name], PackagingRun.options(scheme, layout))
            let path = try Fixtures.path("media/\(name)")
            for track in run.summary.tracks {
                let handler = track.kind == "video" ? "vide" : "soun"
                let whole = try run.whole(track)
                let file = try MP4File(BytesReader(whole))
                #expect(file.tracks[0].protection?.scheme == scheme.rawValue)
                #expect(try file.digest(of: handler) != PackagingRun.digest(path, handler))
                let clear = try await PackagingRun.clear(whole, run.keys)
                #expect(try clear.digest(of: handler) == PackagingRun.digest(path, handler))
            }
        }
    }

    @Test func `presents each sample when its source does`() async throws {
        func times(_ file: MP4File, _ handler: String, shift: (MP4Track) -> Int64) throws -> [Int64] {
            let track = try #require(file.tracks.first { $0.kind == handler })
            var samples = file.samples(of: track)
            var found: [Int64] = []
            while let sample = try samples.next() { found.append(sample.decodeTime + sample.compositionOffset - shift(track)) }
            return found
        }
        let run = try await PackagingRun([source], PackagingRun.options(.cenc))
        let original = try MP4File(LocalFile(Fixtures.path("media/\(source)")))
        func start(_ track: MP4Track) -> Int64 { track.editList.edits.first?.mediaTime ?? 0 }
        for track in run.summary.tracks {
            let handler = track.kind == "video" ? "vide" : "soun"
            let file = try MP4File(BytesReader(run.whole(track)))
            let expected = try times(original, handler, shift: start)
            // all tracks begin 80 ms after zero, by which pictures are decoded before they are presented
            let origin = Int64(file.tracks[0].timescale) * 80 / 1000
            #expect(try times(file, handler) { _ in origin } == expected)
            #expect(!expected.isEmpty && file.tracks[0].editList.edits.isEmpty)
        }
    }

    @Test func `never has two samples of one vector under one key`() async throws {
        for scheme in [CommonEncryptionScheme.cenc, .cens, .cbc1] {
            var options = PackagingRun.options(scheme)
            options.audioKeys = options.videoKeys
            let run = try await PackagingRun([source, source], options)
            var seen: Set<AESBlock> = []
            var count = 0
            for track in run.summary.tracks {
                for encryption in try Self.encryptions(run.whole(track)) {
                    count += 1
                    #expect(seen.insert(encryption.iv).inserted)
                }
            }
            #expect(count > 1000)
        }
    }

    @Test func `has one vector for each track of cbcs, and never the same for two`() async throws {
        var options = PackagingRun.options(.cbcs)
        options.audioKeys = options.videoKeys
        let run = try await PackagingRun([source, source], options)
        var vectors: [AESBlock] = []
        for track in run.summary.tracks {
            let found = Set(try Self.encryptions(run.whole(track)).map(\.iv))
            #expect(found.count == 1)
            vectors += found
        }
        #expect(Set(vectors).count == 4)
    }

    /// How each sample of a file with one track is encrypted.
    static func encryptions(_ bytes: [UInt8]) throws -> [SampleEncryption] {
        let file = try MP4File(BytesReader(bytes))
        let track = file.tracks[0]
        var samples = file.samples(of: track)
        var found: [SampleEncryption] = []
        while let sample = try samples.next() {
            var encryption = SampleEncryption()
            if let defaults = track.entries[sample.entry].encryption { try samples.readEncryption(defaults, into: &encryption) }
            found.append(encryption)
        }
        return found
    }

    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs])
    func `begins clear for the time of its lead, and changes keys`(scheme: CommonEncryptionScheme) async throws {
        var options = PackagingRun.options(scheme)
        options.clearLead = 2000
        options.rotation = 1
        options.videoKeys.append(PackagingRun.audioKey)
        let run = try await PackagingRun([source], options)
        let path = try Fixtures.path("media/\(source)")
        let track = try #require(run.summary.tracks.first)
        let whole = try run.whole(track)
        let encryptions = try Self.encryptions(whole)
        #expect(encryptions.prefix(50).allSatisfy { !$0.isProtected })
        #expect(encryptions.dropFirst(50).allSatisfy { $0.isProtected })
        #expect(Set(encryptions.compactMap(\.keyID)).count == 2)
        #expect(track.keyIDs.count == 2)
        let clear = try await PackagingRun.clear(whole, run.keys)
        #expect(try clear.digest(of: "vide") == PackagingRun.digest(path, "vide"))
        let playlist = try run.text("video-1.m3u8")
        #expect(playlist.split(separator: "#EXT-X-KEY").count >= 4)
    }

    @Test func `leaves what a decoder must read clear`() async throws {
        let run = try await PackagingRun([source], PackagingRun.options(.cbcs))
        let track = try #require(run.summary.tracks.first)
        let encryptions = try Self.encryptions(run.whole(track))
        #expect(encryptions.allSatisfy { $0.pattern == BlockPattern(crypt: 1, skip: 9) })
        #expect(encryptions.contains { $0.subsamples.contains { $0.protected > 0 } })
        #expect(encryptions.allSatisfy { $0.subsamples.allSatisfy { $0.protected == 0 || $0.clear > 5 } })
    }

    @Test func `has playlists that are read again`() async throws {
        let text = try PackagingText(name: "a.vtt", Array("WEBVTT\n\n00:01.000 --> 00:03.000\nHello\n".utf8), language: "en")
        for layout in Self.layouts {
            let run = try await PackagingRun([source], texts: [text], PackagingRun.options(.cbcs, layout))
            let bytes = try run.bytes("master.m3u8")
            guard case .multivariant(let master) = try Playlist.parse(bytes.rawSpan) else {
                Issue.record("master.m3u8 is no multivariant playlist")
                return
            }
            #expect(master.variants.count == 1 && master.renditions.count == 2 && master.iFrameVariants.count == 1)
            #expect(master.sessionKeys.count == 2)
            for name in ["video-1", "audio-1", "video-1-iframes", "text-1"] {
                let bytes = try run.bytes("\(name).m3u8")
                guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else {
                    Issue.record("\(name).m3u8 is no media playlist")
                    return
                }
                #expect(playlist.isEnded && playlist.segments.count >= 5)
                #expect(abs(playlist.duration / .milliseconds(1) - 10_000) < 50, "\(name)")
                for segment in playlist.segments {
                    let length = UInt64(try run.bytes(segment.uri).count)
                    if let range = segment.byteRange { #expect(range.offset + range.length <= length) }
                }
            }
            let segments = try run.text("text-1/1.vtt") + run.text("text-1/2.vtt")
            #expect(segments.split(separator: "Hello").count == 3)
        }
    }

    @Test func `is refused with file and time where renditions are not cut alike`() async throws {
        let directory = TemporaryDirectory()
        let other = directory.file("other.mp4")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", try Fixtures.path("media/\(source)"), "-an", "-c:v", "libx264", "-g",
            "37",
            "-sc_threshold", "0", "-s", "160x90", other,
        ])
        let error = await #expect(throws: MediaError.self) {
            _ = try await PackagingRun([source, other], PackagingRun.options(nil))
        }
        #expect(error?.code == .unaligned)
        #expect(error?.message.contains("other.mp4 has no sync sample at 2.000 s") == true, "\(error?.message ?? "")")
    }

    @Test func `is not there when it was not finished`() async throws {
        let directory = TemporaryDirectory()
        do {
            let folder = try PackageFolder(directory.file("out"))
            try folder.write("a/b.txt", [1])
        }
        #expect(directory.read("out/a/b.txt") == nil)
        let taken = try PackageFolder(directory.file("out"))
        try taken.write("c.txt", [1])
        try taken.commit()
        #expect(directory.read("out/c.txt") == [1])
        #expect(throws: MediaError.self) { _ = try PackageFolder(directory.file("out")) }
    }
}

struct `A playlist of a package` {
    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs], [PackagingOptions.Layout.segments, .ranges])
    func `decrypts with its segments by the id of the key`(
        scheme: CommonEncryptionScheme,
        layout: PackagingOptions.Layout
    ) async throws {
        let run = try await PackagingRun([source], PackagingRun.options(scheme, layout))
        for (name, handler) in [("video-1", "vide"), ("audio-1", "soun")] {
            let decryption = try await MediaDecryption(of: LocalFile("\(run.path)/\(name).m3u8"), as: .same, keys: run.keys)
            var sink = BytesSink()
            try decryption.write(to: &sink) { _ in }
            let clear = try MP4File(BytesReader(sink.bytes))
            let expected = try PackagingRun.digest(Fixtures.path("media/\(source)"), handler)
            #expect(try clear.digest(of: handler) == expected)
        }
        let error = await #expect(throws: MediaError.self) {
            _ = try await MediaDecryption(of: LocalFile("\(run.path)/video-1.m3u8"), as: .same, keys: GivenKeys())
        }
        #expect(error?.code == .missingKey && error?.message.contains("00112233445566778899aabbccddeeff") == true)
    }
}

struct `Keys for packages` {
    private static let id = "00112233-4455-6677-8899-aabbccddeeff"
    private static let other = "ffeeddccbbaa99887766554433221100"
    private static let key = "000102030405060708090a0b0c0d0e0f"

    @Test func `prefers settings of a track type to settings of all tracks`() throws {
        var keys = PackagingKeys()
        try keys.add("\(Self.id):\(Self.key)")
        #expect(keys.video.map { "\($0.id)" } == ["00112233445566778899aabbccddeeff"] && keys.audio.count == 1)
        try keys.add("audio=\(Self.other):\(Self.key)")
        #expect(keys.video.map { "\($0.id)" } == ["00112233445566778899aabbccddeeff"])
        #expect(keys.audio.map { "\($0.id)" } == [Self.other])
    }

    @Test(arguments: [
        "", "x", ":", "\(id)", "text=\(id):\(key)", "\(id):\(key)00", "\(id.dropLast()):\(key)", "\(id):\(key.dropLast())",
        "\(id):zz",
        "\(id):ffffffffffffffffffffffffffffffff",
    ])
    func `are refused without being repeated when they are not written so`(text: String) throws {
        var keys = PackagingKeys()
        try keys.add("\(Self.id):\(Self.key)")
        let error = #expect(throws: MediaError.self) { try keys.add(text) }
        #expect(
            error?.code == .badKey && error?.message.contains(Self.key) == false && error?.message.contains("ffffffff") == false
        )
    }

    @Test(arguments: ["\(key):\(id.filter { $0 != "-" })", "\(key):zz", "\(key):", "video=\(key):\(other.dropLast())"])
    func `are not repeated as key ids either`(text: String) throws {
        var keys = PackagingKeys()
        try keys.add("\(Self.key):\(Self.other)")
        let error = #expect(throws: MediaError.self) { try keys.add(text) }
        #expect(error?.code == .badKey && error?.message.contains(Self.key.prefix(8)) == false, "\(error?.message ?? "")")
    }
}
