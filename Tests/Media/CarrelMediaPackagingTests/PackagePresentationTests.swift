// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import CarrelTimedText
import ProtectedMedia
import Testing

private let source = "src/av-h264-aac.mp4"

struct `What a package tells players` {
    private static func film(_ directory: TemporaryDirectory, _ name: String, _ words: [String]) async throws -> String {
        let path = directory.file(name)
        try await checkProcess([try requirePeer("ffmpeg"), "-v", "error"] + words + [path])
        return path
    }

    private static func master(_ run: PackagingRun) throws -> MultivariantPlaylist {
        let bytes = try run.bytes("master.m3u8")
        guard case .multivariant(let master) = try Playlist.parse(bytes.rawSpan) else {
            throw Malformed("no multivariant playlist", at: 0)
        }
        return master
    }

    // MARK: - Dynamic range

    @Test(arguments: [
        (["-c:v", "libx264", "-x264-params", "colorprim=bt709:transfer=bt709:colormatrix=bt709"], "SDR"),
        (["-c:v", "libx264", "-x264-params", "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"], "PQ"),
        (["-c:v", "libx264", "-x264-params", "colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc"], "HLG"),
        (["-c:v", "libx264"], nil),
        (["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none:transfer=smpte2084:colorprim=bt2020"], "PQ"),
        (["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none:transfer=arib-std-b67:colorprim=bt2020"], "HLG"),
        (["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none:scaling-list=default:ref=4:bframes=3"], nil),
        (
            [
                "-c:v", "libx264", "-color_trc", "smpte2084", "-color_primaries", "bt2020", "-colorspace", "bt2020nc", "-bsf:v",
                "h264_metadata=transfer_characteristics=2", "-movflags", "write_colr",
            ], "PQ"
        ),
    ])
    func `is the dynamic range that pictures say, and none where they do not`(coding: [String], range: String?) async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(
            directory,
            "film.mp4",
            ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2"]
                + (coding.contains("-color_trc") ? [] : ["-movflags", "-write_colr"])
                + coding
        )
        let run = try await PackagingRun([path], PackagingRun.options(.cbcs))
        let master = try Self.master(run)
        #expect(master.variants[0].attributes["VIDEO-RANGE"]?.text == range)
        #expect(try run.text("master.m3u8").split(separator: "VIDEO-RANGE=").count == (range == nil ? 1 : 3))
    }

    // MARK: - Audio groups

    @Test func `are audio groups with the same languages in each`() async throws {
        let directory = TemporaryDirectory()
        func sound(_ name: String, _ language: String, _ codec: String) async throws -> String {
            try await Self.film(
                directory,
                name,
                [
                    "-i", try Fixtures.path("media/\(source)"), "-vn", "-c:a", codec, "-metadata:s:a:0", "language=\(language)",
                ]
            )
        }
        let pictures = try await Self.film(directory, "v.mp4", ["-i", try Fixtures.path("media/\(source)"), "-an", "-c", "copy"])
        let sounds = [
            try await sound("en.mp4", "eng", "aac"), try await sound("de.mp4", "deu", "aac"),
            try await sound("en-ac3.mp4", "eng", "ac3"),
        ]
        let run = try await PackagingRun([pictures] + sounds, PackagingRun.options(nil))
        let master = try Self.master(run)
        let groups = Dictionary(grouping: master.renditions) { $0.attributes["GROUP-ID"]?.text ?? "" }
        #expect(groups.count == 2)
        for members in groups.values {
            // all but address and channels are the same in each group (RFC 8216 §4.3.4.1.1)
            #expect(members.map { $0.attributes["LANGUAGE"]?.text } == ["en", "de"])
            #expect(members.map { $0.attributes["NAME"]?.text } == ["en", "de"])
            #expect(members.map { $0.attributes["DEFAULT"]?.text } == ["YES", "NO"])
        }
        #expect(groups["audio-2"]?.map { $0.attributes["URI"]?.text } == ["audio-3.m3u8", "audio-2.m3u8"])
        // a variant names every coding of its group
        let codecs = master.variants.map { $0.attributes["CODECS"]?.text ?? "" }
        #expect(codecs.count == 2 && codecs[0].hasSuffix(",mp4a.40.2") && codecs[1].hasSuffix(",ac-3,mp4a.40.2"), "\(codecs)")
    }

    // MARK: - The two layouts

    @Test func `are the same times in a manifest of segments and in the index of one file`() async throws {
        let directory = TemporaryDirectory()
        // sound with priming, which a player drops
        let path = try await Self.film(
            directory,
            "a.m4a",
            ["-f", "lavfi", "-i", "anoisesrc=d=9:r=48000:a=0.3", "-c:a", "aac"]
        )
        let files = try await PackagingRun([path], PackagingRun.options(nil, .segments))
        let ranges = try await PackagingRun([path], PackagingRun.options(nil, .ranges))
        let manifest = try files.text("manifest.mpd")
        var durations: [Int] = []
        for entry in manifest.split(separator: "<S ").dropFirst() {
            func number(_ name: String) -> Int? {
                entry.split(separator: "/>")[0].split(separator: "\(name)=\"").last.flatMap { Int($0.prefix { $0.isNumber }) }
            }
            let count = entry.split(separator: "/>")[0].contains("r=\"") ? (number("r") ?? 0) + 1 : 1
            durations += [Int](repeating: try #require(number("d")), count: count)
        }
        let bytes = try ranges.bytes("audio-1.mp4")
        let place = try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == Array("sidx".utf8) })
        let count = Int(bytes.rawSpan.u16(at: place + 34))
        let indexed = (0..<count).map { Int(bytes.rawSpan.u32(at: place + 36 + $0 * 12 + 4)) }
        #expect(indexed == durations && count == 5)
        // the priming is decoded before the presentation, which begins at 40 ms
        #expect(bytes.rawSpan.u64(at: place + 16) == 1920 && manifest.contains("presentationTimeOffset=\"1920\""))
        #expect(
            try files.text("audio-1.m3u8").split(separator: "\n").filter { $0.hasPrefix("#EXTINF") }
                == ranges.text("audio-1.m3u8").split(separator: "\n").filter { $0.hasPrefix("#EXTINF") }
        )
    }

    @Test func `is refused before anything is written when one file would have too many segments`() async throws {
        let directory = TemporaryDirectory()
        // a minute is encoded, and repeated
        let minute = try await Self.film(
            directory,
            "minute.mp4",
            ["-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono", "-t", "60", "-c:a", "libmp3lame", "-b:a", "8k"]
        )
        let path = try await Self.film(
            directory,
            "long.mp4",
            ["-stream_loop", "549", "-i", minute, "-c", "copy"]
        )
        var options = PackagingRun.options(nil, .ranges)
        options.segmentDuration = 500
        let source = try await PackagingSource(name: "long.mp4", LocalFile(path))
        let error = #expect(throws: MediaError.self) { _ = try Packager([source], options) }
        #expect(error?.code == .unsupported && error?.message.contains("long.mp4 makes 66") == true, "\(error?.message ?? "")")
        options.layout = .segments
        _ = try Packager([source], options)
    }

    // MARK: - Addresses

    @Test func `has no control character in its manifest`() async throws {
        var options = PackagingRun.options(.cenc)
        options.licenseURI = "https://keys.example/\u{1}\n?a=1&b=<\u{7f}\u{85}"
        let run = try await PackagingRun([source], options)
        let manifest = try run.text("manifest.mpd")
        #expect(manifest.contains("https://keys.example/\u{fffd}\u{fffd}?a=1&amp;b=&lt;\u{fffd}\u{fffd}<"))
        #expect(manifest.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
    }

    @Test func `names the license server of ClearKey in both forms, and where its tokens are`() async throws {
        var options = PackagingRun.options(.cenc)
        options.licenseURI = "https://drm.example/v1/clear-key"
        options.authorizationURI = "https://shop.example/tokens?a=1&b=2"
        let run = try await PackagingRun([source], options)
        let manifest = try run.text("manifest.mpd")
        let text = Array(manifest.utf8)
        let mpd = try MPD.parse(text.rawSpan)
        let protections = mpd.periods.flatMap(\.adaptationSets).flatMap(\.properties.contentProtections)
        let clearKey = protections.filter { $0.system == .clearKey }
        #expect(!clearKey.isEmpty && clearKey.allSatisfy { $0.licenseURLs == ["https://drm.example/v1/clear-key"] })
        #expect(clearKey.allSatisfy { $0.authorizationURLs == ["https://shop.example/tokens?a=1&b=2"] })
        #expect(
            protections.filter { $0.system != .clearKey }.allSatisfy { $0.licenseURLs.isEmpty && $0.authorizationURLs.isEmpty }
        )
        #expect(manifest.contains("xmlns:dashif=\"https://dashif.org/CPS\""))
        #expect(manifest.contains("<dashif:laurl>") && manifest.contains("<dashif:Laurl>"))
    }

    // MARK: - Subtitles

    @Test func `are the cues of each part, found by their start`() throws {
        var random = SplitMix(seed: 9)
        var text = "WEBVTT\n"
        func stamp(_ time: Int) -> String {
            let rest = String(1000 + time % 1000).dropFirst()
            return "\(String(100 + time / 60_000).dropFirst()):\(String(100 + time / 1000 % 60).dropFirst()).\(rest)"
        }
        var cues: [(Int, Int)] = []
        for _ in 0..<300 {
            let start = Int.random(in: 0..<600_000, using: &random)
            let length = Int.random(in: 1..<(Int.random(in: 0..<10, using: &random) == 0 ? 200_000 : 4000), using: &random)
            cues.append((start, start + length))
            text += "\n\(stamp(start)) --> \(stamp(start + length))\ncue \(cues.count)\n"
        }
        let file = try WebVTTFile(Array(text.utf8).rawSpan)
        for _ in 0..<200 {
            let start = Int64.random(in: 0..<650_000, using: &random)
            let end = start + Int64.random(in: 0..<20_000, using: &random)
            let found = String(decoding: file.segment(start..<end), as: UTF8.self)
            let numbers = found.split(separator: "\ncue ").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
            let expected = cues.indices.filter { cues[$0].0 < end && cues[$0].1 > start }.map { $0 + 1 }
            #expect(numbers == expected)
        }
    }

    @Test func `are segments of many cues in less than the square of their number`() throws {
        var text = "WEBVTT\n"
        for i in 0..<36_000 {
            let (minute, second) = (i / 60 % 60, i % 60)
            let time =
                "\(String(100 + i / 3600).dropFirst()):\(String(100 + minute).dropFirst()):\(String(100 + second).dropFirst())"
            text += "\n\(time).000 --> \(time).900\nx\n"
        }
        let file = try WebVTTFile(Array(text.utf8).rawSpan)
        let clock = ContinuousClock()
        let duration = clock.measure {
            for i in 0..<9000 { _ = file.segment(Int64(i) * 4000..<Int64(i + 1) * 4000) }
        }
        // scanning all cues for each segment takes 324 million steps
        #expect(duration < .seconds(5), "\(duration)")
    }

    // MARK: - Keys

    @Test(arguments: [nil, TransportScheme.cissa, .aes128])
    func `is whether playlists name the keys`(scheme: TransportScheme?) async throws {
        var options = PackagingRun.options(scheme == nil ? .cbcs : nil)
        options.isTransport = scheme != nil
        options.transport = scheme
        options.keyURI = "https://keys.example/{kid}"
        let run = try await PackagingRun([source], options)
        #expect(run.summary.hasKeyLines == (scheme != .cissa))
        #expect(try run.text("video-1.m3u8").contains("#EXT-X-KEY") == run.summary.hasKeyLines)
    }
}
