// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `A transport stream made of a file` {
    /// The digest of what ffmpeg decodes of a file's pictures or sound, edit lists left alone.
    private static func decoded(_ path: String, _ kind: String) async throws -> String {
        let ffmpeg = try requirePeer("ffmpeg")
        let input = (path.hasSuffix(".ts") ? [] : ["-ignore_editlist", "1"]) + ["-i", path, "-map", "0:\(kind)"]
        // pictures are counted: fragments of the master present some of them twice
        let pictures = ["-fps_mode", "passthrough", "-vf", "setpts=N", "-f", "rawvideo"]
        let format = kind == "v" ? pictures : ["-f", "s16le"]
        let result = try await runProcess([ffmpeg, "-v", "error"] + input + format + ["-"], limit: 512 << 20)
        #expect(result.errorText == "")
        return Hex.encode(SHA256.hash(result.output.rawSpan))
    }

    /// The first time of presentation of a file's pictures or sound, in seconds.
    private static func start(_ path: String, _ kind: String) async throws -> Double {
        let probe = try requirePeer("ffprobe")
        let text = try await checkProcess([
            probe, "-v", "error", "-select_streams", kind, "-show_entries", "stream=start_time", "-of", "default=nw=1:nk=1", path,
        ])
        return try #require(text.split(separator: "\n").first.flatMap { Double($0) })
    }

    private static let sources = [
        "cenc/av.cenc.mp4": "av.frag.mp4", "cenc/av.cbcs.mp4": "av.frag.mp4", "cenc/av-nonfrag.cenc.mp4": "av-h264-aac.mp4",
        "cenc/video-hevc.cbcs.mp4": "video-hevc.frag.mp4", "dcf/av.pdcf-ctr.mp4": "av-h264-aac.mp4",
        "marlin/av.acbc.mp4": "av-h264-aac.mp4", "isma/av.isma-iaec.mp4": "av-h264-aac.mp4",
        "cenc/audio.cbcs.mp4": "audio.frag.mp4",
    ]

    @Test(arguments: ProtectedFixture.all.filter { sources.keys.contains($0.name) })
    func `decodes to the pictures and the sound of the original, at the same distance`(fixture: ProtectedFixture) async throws {
        let source = try Fixtures.path("media/src/\(try #require(Self.sources[fixture.name]))")
        let bytes = try await TransportUnits.stream(of: try Fixtures.bytes("media/\(fixture.name)"), fixture.keys)
        #expect(bytes.count % 188 == 0)
        let directory = TemporaryDirectory()
        let path = directory.file("out.ts")
        directory.write("out.ts", bytes)
        let probe = try requirePeer("ffprobe")
        let warnings = try await runProcess([probe, "-v", "warning", path])
        #expect(warnings.errorText == "")
        // ffmpeg complains of times of decoding that do not rise
        let copy = try await runProcess([try requirePeer("ffmpeg"), "-v", "warning", "-i", path, "-c", "copy", "-f", "null", "-"])
        #expect(copy.errorText == "")
        let kinds = ["v", "a"].filter { fixture.samples($0) != nil }
        for kind in kinds {
            #expect(try await Self.decoded(path, kind) == Self.decoded(source, kind))
        }
        if kinds.count == 2 {
            let distance = try await Self.start(path, "a") - Self.start(path, "v")
            // ffmpeg moves pictures later where fragments have negative composition offsets: the master of both has none
            let master = try Fixtures.path("media/src/av-h264-aac.mp4")
            let expected = try await Self.start(master, "a") - Self.start(master, "v")
            // within one frame of audio
            #expect(abs(distance - expected) < 0.025, "\(distance) instead of \(expected)")
        }
    }
}
