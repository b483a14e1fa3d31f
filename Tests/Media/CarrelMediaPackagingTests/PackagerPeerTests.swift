// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import ProtectedMedia
import Testing

private let keyID = "00112233445566778899aabbccddeeff"
private let keyText = "000102030405060708090a0b0c0d0e0f"

struct `Packages compared with other programs` {
    private static let sources = ["src/av-h264-aac.mp4", "src/av-hevc-aac.mp4"]
    private static let handlers = [(name: "video", handler: "vide"), (name: "audio", handler: "soun")]

    private static func options(_ scheme: CommonEncryptionScheme) -> PackagingOptions {
        var options = PackagingRun.options(scheme, .ranges)
        options.audioKeys = options.videoKeys
        return options
    }

    @Test(arguments: CommonEncryptionScheme.allCases, sources)
    func `decrypt with Shaka Packager`(scheme: CommonEncryptionScheme, source: String) async throws {
        let packager = try StreamingPeer.packager.path()
        let run = try await PackagingRun([source], Self.options(scheme))
        for (kind, handler) in Self.handlers {
            let clear = run.directory.file("\(kind).mp4")
            try await checkProcess([
                packager, "in=\(run.path)/\(kind)-1.mp4,stream=\(kind),output=\(clear)", "--enable_raw_key_decryption", "--keys",
                "label=:key_id=\(keyID):key=\(keyText)",
            ])
            let expected = try PackagingRun.digest(Fixtures.path("media/\(source)"), handler)
            #expect(try PackagingRun.digest(clear, handler) == expected)
        }
    }

    @Test(arguments: CommonEncryptionScheme.allCases, sources)
    func `decrypt with ffmpeg`(scheme: CommonEncryptionScheme, source: String) async throws {
        let ffmpeg = try StreamingPeer.ffmpeg.path()
        let run = try await PackagingRun([source], Self.options(scheme))
        for (kind, handler) in Self.handlers {
            let clear = run.directory.file("\(kind).mp4")
            let result = try await runProcess([
                ffmpeg, "-v", "error", "-decryption_key", keyText, "-i", "\(run.path)/\(kind)-1.mp4", "-c", "copy", clear,
            ])
            #expect(result.status.isSuccess && result.errors.isEmpty, "\(result.errorText)")
            let expected = try PackagingRun.digest(Fixtures.path("media/\(source)"), handler)
            #expect(try PackagingRun.digest(clear, handler) == expected)
        }
    }

    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs], handlers)
    func `decrypt with the ffmpeg of Debian, in one file a track`(
        scheme: CommonEncryptionScheme,
        kind: (name: String, handler: String)
    ) async throws {
        let run = try await PackagingRun([Self.sources[0]], Self.options(scheme))
        let clear = run.directory.file("clear.mp4")
        let result = try await runProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-decryption_key", keyText, "-i", "\(run.path)/\(kind.name)-1.mp4", "-c",
            "copy", clear,
        ])
        #expect(result.status.isSuccess && result.errors.isEmpty, "\(result.errorText)")
        let expected = try PackagingRun.digest(Fixtures.path("media/\(Self.sources[0])"), kind.handler)
        #expect(try PackagingRun.digest(clear, kind.handler) == expected)
    }

    @Test(arguments: CommonEncryptionScheme.allCases, sources)
    func `of Shaka Packager decrypt here`(scheme: CommonEncryptionScheme, source: String) async throws {
        let packager = try StreamingPeer.packager.path()
        let directory = TemporaryDirectory()
        let path = try Fixtures.path("media/\(source)")
        let video = directory.file("video.mp4")
        let audio = directory.file("audio.mp4")
        try await checkProcess([
            packager, "in=\(path),stream=video,output=\(video)", "in=\(path),stream=audio,output=\(audio)",
            "--enable_raw_key_encryption", "--keys", "label=:key_id=\(keyID):key=\(keyText)", "--protection_scheme",
            scheme.rawValue, "--clear_lead", "0", "--segment_duration", "2",
        ])
        var keys = GivenKeys()
        keys.add(PackagingRun.videoKey.key, for: .id(PackagingRun.videoKey.id.bytes))
        // sound of `cens` with the pattern 0:0: Shaka Packager leaves the last part of a block clear, Bento4 and ffmpeg do not
        for (kind, handler) in Self.handlers where scheme != .cens || kind != "audio" {
            let bytes = try #require(directory.read("\(kind).mp4"))
            let clear = try await PackagingRun.clear(bytes, keys)
            #expect(try clear.digest(of: handler) == PackagingRun.digest(path, handler))
        }
    }

    /// It writes the groups of changing keys where ISO/IEC 14496-12 §8.9.4 puts them: in the fragment, numbered from 0x10001.
    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs])
    func `of Shaka Packager with changing keys decrypt here`(scheme: CommonEncryptionScheme) async throws {
        let packager = try StreamingPeer.packager.path()
        let directory = TemporaryDirectory()
        let path = try Fixtures.path("media/\(Self.sources[0])")
        try await checkProcess([
            packager, "in=\(path),stream=video,output=\(directory.file("video.mp4"))", "--enable_raw_key_encryption", "--keys",
            "label=:key_id=\(keyID):key=\(keyText)", "--protection_scheme", scheme.rawValue, "--clear_lead", "0",
            "--segment_duration", "2", "--fragment_duration", "2", "--crypto_period_duration", "2",
        ])
        let bytes = try #require(directory.read("video.mp4"))
        let named = Set(try `A package`.encryptions(bytes).compactMap(\.keyID))
        #expect(named.count >= 4)
        // its keys for tests: id and key turn by a byte with each period
        var keys = GivenKeys()
        for period in 0..<10 {
            func turned(_ text: String) -> String { String(text.dropFirst(2 * period) + text.prefix(2 * period)) }
            let key = PackagingRun.key(turned(keyID), turned(keyText))
            keys.add(key.key, for: .id(key.id.bytes))
        }
        // the track itself names a key of zeros, which no sample has
        let clear = try await PackagingRun.clear(bytes, keys)
        #expect(try clear.digest(of: "vide") == PackagingRun.digest(path, "vide"))
        // our own have the same groups at the same places
        var options = Self.options(scheme)
        options.rotation = 1
        options.videoKeys.append(PackagingRun.audioKey)
        let run = try await PackagingRun([Self.sources[0]], options)
        func groups(_ bytes: [UInt8]) -> Set<[UInt8]> {
            let places = bytes.indices.dropLast(28).filter { Array(bytes[$0..<$0 + 4]) == Array("sbgp".utf8) }
            return Set(places.map { Array(bytes[$0 + 4..<$0 + 24]) })
        }
        #expect(try groups(run.bytes("video-1.mp4")) == groups(bytes) && !groups(bytes).isEmpty)
    }

    @Test(arguments: sources)
    func `leave clear what Shaka Packager leaves clear in cbcs`(source: String) async throws {
        let packager = try StreamingPeer.packager.path()
        let run = try await PackagingRun([source], Self.options(.cbcs))
        let theirs = run.directory.file("theirs.mp4")
        try await checkProcess([
            packager, "in=\(try Fixtures.path("media/\(source)")),stream=video,output=\(theirs)", "--enable_raw_key_encryption",
            "--keys", "label=:key_id=\(keyID):key=\(keyText)", "--protection_scheme", "cbcs", "--clear_lead", "0",
        ])
        let expected = try `A package`.encryptions(#require(run.directory.read("theirs.mp4"))).map(\.subsamples)
        let ours = try `A package`.encryptions(run.bytes("video-1.mp4")).map(\.subsamples)
        #expect(ours.count == expected.count)
        for (i, (our, their)) in zip(ours, expected).enumerated() where our != their {
            Issue.record("sample \(i): \(our) is \(their) there")
            return
        }
    }

    @Test(arguments: [
        ["-c:v", "libx264", "-profile:v", "baseline", "-g", "50"],
        ["-c:v", "libx264", "-bf", "3", "-refs", "4", "-weightp", "2", "-x264-params", "weightb=1:b-pyramid=2:slices=3"],
        ["-c:v", "libx264", "-x264-params", "interlaced=1:cabac=0:slices=2"],
        ["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none:bframes=4:ref=4:weightp=1:weightb=1:slices=2"],
        ["-c:v", "libx265", "-tag:v", "hvc1", "-pix_fmt", "yuv420p10", "-x265-params", "log-level=none:wpp=1:open-gop=1:sao=0"],
    ])
    func `leave the same headers of slices clear, however a stream is coded`(coding: [String]) async throws {
        let packager = try StreamingPeer.packager.path()
        let directory = TemporaryDirectory()
        let film = directory.file("film.mp4")
        try await checkProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x384:r=25:d=4,fade=in:0:40", "-b:v",
                "2M",
            ] + coding + [film]
        )
        let run = try await PackagingRun([film], Self.options(.cbcs))
        let theirs = directory.file("theirs.mp4")
        try await checkProcess([
            packager, "in=\(film),stream=video,output=\(theirs)", "--enable_raw_key_encryption", "--keys",
            "label=:key_id=\(keyID):key=\(keyText)", "--protection_scheme", "cbcs", "--clear_lead", "0",
        ])
        let expected = try `A package`.encryptions(#require(directory.read("theirs.mp4"))).map(\.subsamples)
        let ours = try `A package`.encryptions(run.bytes("video-1.mp4")).map(\.subsamples)
        #expect(ours.count == expected.count && ours.count == 100)
        for (i, (our, their)) in zip(ours, expected).enumerated() where our != their {
            Issue.record("sample \(i): \(our) is \(their) there")
            return
        }
    }

    @Test func `are read by ffprobe without a warning`() async throws {
        let run = try await PackagingRun([Self.sources[0]], PackagingRun.options(nil))
        for name in ["master.m3u8", "manifest.mpd"] {
            let result = try await runProcess([
                try requirePeer("ffprobe"), "-v", "warning", "-show_entries", "stream=codec_name,nb_read_packets",
                "-count_packets",
                "-of", "compact=p=0", "\(run.path)/\(name)",
            ])
            #expect(result.status.isSuccess && result.errors.isEmpty, "\(name): \(result.errorText)")
            #expect(result.text.contains("codec_name=h264|nb_read_packets=250"), "\(name): \(result.text)")
            #expect(result.text.contains("codec_name=aac|nb_read_packets="))
        }
    }
}
