// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import ProtectedMedia
import Testing

struct `What a package is made of` {
    private static func digest(_ path: String, _ kind: String) async throws -> String {
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", path, "-map", "0:\(kind):0", "-f", "hash", "-hash", "sha256", "-",
        ])
    }

    @Test(arguments: [
        ["-c:a", "libmp3lame", "a.mp4"], ["-c:a", "ac3", "a.mp4"], ["-c:a", "eac3", "a.mp4"],
        ["-c:a", "flac", "-strict", "-2", "a.mp4"], ["-c:a", "libopus", "-ar", "48000", "a.mp4"], ["-c:a", "aac", "a.mov"],
        ["-c:a", "libmp3lame", "a.mov"],
        ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov", "-frag_duration", "500000", "a.mp4"],
    ])
    func `may be sound of any coding`(form: [String]) async throws {
        let directory = TemporaryDirectory()
        let path = directory.file(form.last ?? "")
        try await checkProcess(
            [try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "anoisesrc=d=7:r=48000:a=0.3"] + form.dropLast() + [
                path
            ]
        )
        for scheme in [nil, CommonEncryptionScheme.cenc, .cbcs] {
            let run = try await PackagingRun([path], PackagingRun.options(scheme))
            let track = try #require(run.summary.tracks.first)
            #expect(track.segmentCount == 4)
            let whole = try run.whole(track)
            let clear = scheme == nil ? try MP4File(BytesReader(whole)) : try await PackagingRun.clear(whole, run.keys)
            #expect(try clear.digest(of: "soun") == PackagingRun.digest(path, "soun"))
            guard scheme == nil else { continue }
            let result = try await runProcess([
                try requirePeer("ffprobe"), "-v", "warning", "-show_entries", "stream=codec_name", "-of", "csv=p=0",
                "\(run.path)/master.m3u8",
            ])
            #expect(result.status.isSuccess && result.errors.isEmpty && !result.output.isEmpty, "\(result.errorText)")
        }
    }

    @Test func `may be several bit rates and languages in files of their own`() async throws {
        let directory = TemporaryDirectory()
        func make(_ name: String, _ options: [String]) async throws -> String {
            let path = directory.file(name)
            try await checkProcess(
                [try requirePeer("ffmpeg"), "-v", "error", "-i", try Fixtures.path("media/src/av-h264-aac.mp4")] + options + [
                    path
                ]
            )
            return path
        }
        let small = try await make("small.mp4", ["-an", "-s", "160x90", "-g", "50", "-sc_threshold", "0", "-c:v", "libx264"])
        let german = try await make("de.mp4", ["-vn", "-c:a", "copy", "-metadata:s:a:0", "language=deu"])
        let french = try await make("fr.m4a", ["-vn", "-c:a", "copy", "-metadata:s:a:0", "language=fra"])
        let run = try await PackagingRun(
            ["src/av-h264-aac.mp4", small, german, french],
            PackagingRun.options(.cenc)
        )
        #expect(run.summary.tracks.map(\.kind) == ["video", "video", "audio", "audio", "audio"])
        #expect(run.summary.tracks.map(\.language) == [nil, nil, nil, "de", "fr"])
        let master = try run.text("master.m3u8")
        #expect(master.contains("LANGUAGE=\"de\"") && master.contains("LANGUAGE=\"fr\""))
        #expect(master.split(separator: "#EXT-X-STREAM-INF").count == 3)
        let result = try await runProcess([
            try requirePeer("ffprobe"), "-v", "error", "-show_entries", "program=nb_streams", "-of", "csv=p=0",
            "\(run.path)/master.m3u8",
        ])
        #expect(result.status.isSuccess)
        let starts = run.summary.tracks.map(\.segmentCount)
        #expect(Set(starts) == [5])
    }

    @Test func `may be protected itself, when its keys are given`() async throws {
        let first = try await PackagingRun(["src/av-h264-aac.mp4"], PackagingRun.options(.cbcs, .ranges))
        let source = try await PackagingSource(
            name: "video-1.mp4",
            LocalFile("\(first.path)/video-1.mp4"),
            keys: first.keys
        )
        let packager = try Packager([source], PackagingRun.options(.cenc))
        let folder = try PackageFolder(first.directory.file("again"))
        let summary = try packager.write(to: folder)
        try folder.commit()
        var whole = try #require(first.directory.read("again/video-1/init.mp4"))
        for i in 1...summary.tracks[0].segmentCount { whole += try #require(first.directory.read("again/video-1/\(i).m4s")) }
        let clear = try await PackagingRun.clear(whole, first.keys)
        #expect(try clear.digest(of: "vide") == PackagingRun.digest(Fixtures.path("media/src/av-h264-aac.mp4"), "vide"))
    }

    @Test func `is refused with its name and the byte, and never traps, when it is damaged`() async throws {
        let original = try Fixtures.bytes("media/src/av-h264-aac.mp4")
        // the index: everything outside the samples
        var index: Range<Int> = 0..<0
        try MP4File(BytesReader(original)).forEachBox { box, _ in
            if box.type == "moov" { index = Int(box.start)..<Int(box.content.upperBound) }
        }
        #expect(!index.isEmpty)
        var random = SplitMix(seed: 12)
        var refused = 0
        let directory = TemporaryDirectory()
        for round in 0..<300 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let at = Int.random(in: index, using: &random)
                bytes[at] = [0, 0xff, 0x7f, 0x80, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            do {
                let source = try await PackagingSource(name: "in.mp4", BytesReader(bytes))
                var options = PackagingRun.options(round % 2 == 0 ? .cenc : nil, round % 3 == 0 ? .ranges : .segments)
                if round % 4 == 3 {
                    options = PackagingRun.options(nil)
                    options.isTransport = true
                    options.transport = round % 8 == 3 ? .aes128 : .cissa
                }
                let folder = try PackageFolder(directory.file("out-\(round)"))
                _ = try Packager([source], options).write(to: folder)
            } catch let error as MediaError {
                refused += 1
                #expect(error.message.hasPrefix("in.mp4"), "\(error)")
            }
        }
        #expect(refused > 10)
    }

    @Test func `is refused when it is cut off anywhere`() async throws {
        let original = try Fixtures.bytes("media/src/av.frag.mp4")
        let directory = TemporaryDirectory()
        var random = SplitMix(seed: 3)
        for round in 0..<60 {
            let bytes = Array(original.prefix(Int.random(in: 0..<original.count, using: &random)))
            do {
                let source = try await PackagingSource(name: "in.mp4", BytesReader(bytes))
                let folder = try PackageFolder(directory.file("out-\(round)"))
                _ = try Packager([source], PackagingRun.options(.cbcs)).write(to: folder)
            } catch let error as MediaError {
                #expect(error.message.hasPrefix("in.mp4"), "\(error)")
            }
        }
    }
}
