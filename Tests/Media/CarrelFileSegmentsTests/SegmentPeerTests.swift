// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `Segments of a file in other players` {
    private static let sources = [
        "cenc/av.cenc.mp4": "av.frag.mp4", "cenc/av.cbcs.mp4": "av.frag.mp4", "cenc/av.piff-ctr.mp4": "av.frag.mp4",
        "cenc/av-nonfrag.cenc.mp4": "av-h264-aac.mp4", "cenc/video-hevc.cbcs.mp4": "video-hevc.frag.mp4",
        "dcf/av.pdcf-ctr.mp4": "av-h264-aac.mp4", "marlin/av.acbc.mp4": "av-h264-aac.mp4",
        "isma/av.isma-iaec.mp4": "av-h264-aac.mp4", "cenc/audio.cbcs.mp4": "audio.frag.mp4",
    ]

    /// The digests of the frames that ffmpeg decodes, without their times.
    private static func frames(_ path: String, _ kind: String) async throws -> [Substring] {
        let ffmpeg = try requirePeer("ffmpeg")
        let input = (path.hasSuffix(".mp4") ? ["-ignore_editlist", "1"] : []) + ["-i", path, "-map", "0:\(kind):0"]
        let raw = kind == "v" ? ["-fps_mode", "passthrough", "-f", "framemd5"] : ["-f", "s16le"]
        let result = try await runProcess([ffmpeg, "-v", "warning"] + input + raw + ["-"], limit: 512 << 20)
        let complaints = result.errorText.split(separator: "\n").filter {
            // of raw frames in the order of their presentation, and of two configurations in one entry, with the sources too
            !$0.contains("onoton") && !$0.contains("ignoring multiple glbl")
        }
        #expect(complaints.isEmpty, "\(complaints)")
        guard kind == "v" else { return [Substring(Hex.encode(SHA256.hash(result.output.rawSpan)))] }
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last?.drop(while: { $0 == " " }) }
    }

    @Test(arguments: ProtectedFixture.all.filter { sources.keys.contains($0.name) })
    func `decode to the frames of the clear source`(fixture: ProtectedFixture) async throws {
        let source = try Fixtures.path("media/src/\(try #require(Self.sources[fixture.name]))")
        let file = try await SegmentedFile(BytesReader(try Fixtures.bytes("media/\(fixture.name)")), fixture.keys)
        let directory = TemporaryDirectory()
        directory.write("all.ts", try file.transport)
        let probe = try requirePeer("ffprobe")
        let warnings = try await runProcess([probe, "-v", "warning", directory.file("all.ts")])
        #expect(warnings.errorText == "")
        for track in file.segments.tracks {
            let kind = track.kind == "vide" ? "v" : "a"
            let expected = try await Self.frames(source, kind)
            #expect(!expected.isEmpty)
            #expect(try await Self.frames(directory.file("all.ts"), kind) == expected)
            directory.write("\(track.id).mp4", try file.fragments(track: track.id))
            #expect(try await Self.frames(directory.file("\(track.id).mp4"), kind) == expected)
        }
    }

    @Test(arguments: [FileSegments.Form.transportStream, .fragment])
    func `play from a playlist`(form: FileSegments.Form) async throws {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cenc.mp4" })
        let file = try await SegmentedFile(
            BytesReader(try Fixtures.bytes("media/\(fixture.name)")),
            fixture.keys,
            target: .seconds(2)
        )
        let directory = TemporaryDirectory()
        let video = try #require(file.segments.tracks.first { $0.kind == "vide" })
        var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:5"]
        if form == .fragment {
            directory.write("init.mp4", try file.segments.initialization(of: video.id))
            lines.append("#EXT-X-MAP:URI=\"init.mp4\"")
        }
        for (index, segment) in file.segments.segments.enumerated() {
            let name = form == .fragment ? "\(index).m4s" : "\(index).ts"
            directory.write(name, form == .fragment ? try file.fragments(index, track: video.id) : try file.transport(index))
            lines += ["#EXTINF:\(segment.duration / .seconds(1)),", name]
        }
        directory.write("list.m3u8", Array((lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n").utf8))
        let source = try Fixtures.path("media/src/av.frag.mp4")
        #expect(try await Self.frames(directory.file("list.m3u8"), "v") == Self.frames(source, "v"))
    }

    /// A flash and a beep each second, written as segments and joined by playlists.
    @Test(
        arguments: [FlashFilm.reordered, .withoutEditList, .cutInsideGroup],
        [FileSegments.Form.transportStream, .fragment]
    )
    func `keep pictures and sound in step`(film: FlashFilm, form: FileSegments.Form) async throws {
        let directory = TemporaryDirectory()
        let file = try await SegmentedFile(LocalFile(try await film.make(in: directory)), GivenKeys(), target: .seconds(2))
        let tracks = file.segments.tracks
        var master = ["#EXTM3U", "#EXT-X-VERSION:7"]
        for track in form == .fragment ? tracks : [tracks[0]] {
            var lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:5"]
            if form == .fragment {
                directory.write("\(track.id).init.mp4", try file.segments.initialization(of: track.id))
                lines.append("#EXT-X-MAP:URI=\"\(track.id).init.mp4\"")
            }
            for (index, segment) in file.segments.segments.enumerated() {
                let name = "\(track.id).\(index).\(form == .fragment ? "m4s" : "ts")"
                directory.write(name, form == .fragment ? try file.fragments(index, track: track.id) : try file.transport(index))
                lines += ["#EXTINF:\(segment.duration / .seconds(1)),", name]
            }
            directory.write("\(track.id).m3u8", Array((lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n").utf8))
        }
        if form == .fragment {
            master.append(
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",DEFAULT=YES,AUTOSELECT=YES,URI=\"\(tracks[1].id).m3u8\""
            )
        }
        master += ["#EXT-X-STREAM-INF:BANDWIDTH=300000\(form == .fragment ? ",AUDIO=\"a\"" : "")", "\(tracks[0].id).m3u8", ""]
        directory.write("master.m3u8", Array(master.joined(separator: "\n").utf8))
        let times = try await FlashPlayer.ffmpeg.measure(directory.file("master.m3u8"))
        #expect(times.isInStep(film == .cutInsideGroup ? 5 : 6) && times.pictures == 200, "\(times)")
        #expect(abs(file.segments.duration / .seconds(1) - film.seconds) < 0.1)
        guard film == .cutInsideGroup else { return }
        // the flash of the second second comes 0.7 s after the beginning, and what the edit hides lasts less than a picture
        #expect(times.flashes.contains { abs($0 - (times.start + 0.7)) < 0.045 }, "\(times)")
        #expect((32...34).contains(times.times.filter { $0 < times.start + 0.01 }.count), "\(times)")
    }
}
