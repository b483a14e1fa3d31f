// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelReader
import CarrelTesting
import CarrelThreads
import Testing

struct `The tracks of a source` {
    private let directory = TemporaryDirectory()
    private let origin = MadeOrigin()

    private static func run(_ change: (inout PlaylistProxy.Options) -> Void = { _ in }) throws -> ProxyRun {
        try ProxyRun { options in
            options.policy = .open
            options.rules = .rfc
            change(&options)
        }
    }

    /// A file that ffmpeg makes of a clear film.
    private func film(_ name: String, _ arguments: [String]) async throws -> String {
        let path = directory.file(name)
        let source = try Fixtures.path("media/src/av-h264-aac.mp4")
        try await checkProcess([try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-i", source] + arguments + [path])
        return path
    }

    private static func lines(_ session: PlaylistProxy.Session, _ word: String) async throws -> [String] {
        try await ProxyRun.text(session.url).split(separator: "\n").map { String($0) }.filter { $0.contains(word) }
    }

    // MARK: - Codecs

    @Test(arguments: [
        ("opus.mp4", ["-c:v", "copy", "-c:a", "libopus", "-b:a", "64k"], "opus"),
        ("vp9.mp4", ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "copy"], "vp09"),
    ])
    func `that transport streams cannot carry are named, and go out as fragments where that is allowed`(
        name: String,
        arguments: [String],
        codec: String
    ) async throws {
        let path = try await film(name, arguments)
        let strict = try Self.run()
        let refused = try await ProxyRun.get(try strict.proxy.makeURL(path, .singleFile).url)
        #expect(refused.status == 415)
        let error = try #require(strict.proxy.takeLastError())
        #expect(error.message.contains(codec) && error.message.contains("track '"), "\(error.message)")
        await strict.proxy.stop()
        let run = try Self.run { $0.allowsFragments = true }
        let session = try run.proxy.makeURL(path, .singleFile)
        #expect(try await Self.lines(session, "#EXT-X-STREAM-INF").allSatisfy { $0.contains(codec) || !$0.contains("CODECS") })
        #expect(try await ProxyRun.segments(of: session).allSatisfy { $0.contains("segment.m4s") })
        let played = try await Frames.ffmpeg(session.url)
        let clear = try await Frames.ffmpeg(path)
        #expect(!clear.pictures.isEmpty && played.pictures == clear.pictures)
        #expect(played.audio.count >= clear.audio.count - 2 && !played.audio.isEmpty)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `chooses DASH tracks that transport streams can carry over main tracks that they cannot`() async throws {
        for name in ["v", "a"] {
            origin.put("\(name)-init.mp4", try Fixtures.bytes("media/dash/number-clear/\(name)-init.mp4"))
            for number in 1...3 {
                let bytes = try Fixtures.bytes("media/dash/number-clear/\(name)-000\(number).m4s")
                origin.put("\(name)-0-\((number - 1) * 2000).m4s", bytes)
            }
        }
        let main = "<Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"main\"/>"
        let durations = [2000, 2000, 2000]
        let tracks: [MadeManifest.Track] = [
            .init(kind: "video", id: "x", codecs: "vp09.00.10.08", durations: durations, inner: main),
            .init(kind: "audio", id: "y", codecs: "opus", durations: durations, inner: main), .video(durations),
            .audio(durations),
        ]
        origin.put("made.mpd", MadeManifest(periods: [.init(start: 0, duration: 6, tracks: tracks)]).text)
        let run = try Self.run()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        #expect(try await Self.lines(session, "#EXT-X-STREAM-INF").allSatisfy { $0.contains("CODECS=\"avc1.64000C,mp4a.40.2\"") })
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures && played.audio.count >= clear.audio.count - 1)
        await run.proxy.stop()
    }

    @Test func `whose codec a manifest does not name are refused by name when a transport stream cannot hold them`() async throws
    {
        let path = try await film(
            "vp9.mp4",
            [
                "-an", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-movflags",
                "frag_keyframe+empty_moov+default_base_moof",
            ]
        )
        let bytes = try #require(Fixtures.bytes(at: path))
        origin.put("film.mp4", bytes)
        origin.put(
            "film.mpd",
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period duration="PT6S"><AdaptationSet mimeType="video/mp4">\
            <Representation id="v" bandwidth="1"><BaseURL>film.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        )
        let run = try Self.run()
        let session = try run.proxy.makeURL(origin.url("film.mpd"), .dash)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        try await ProxyRun.expectRefusal(segment, .unsupported, 415, of: run)
        await run.proxy.stop()
    }

    // MARK: - Files

    @Test func `of a file have the languages and names of playlists`() async throws {
        let path = try await film(
            "languages.mp4",
            [
                "-map", "0:v", "-map", "0:a", "-map", "0:a", "-c", "copy", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1",
                "language=spa",
            ]
        )
        for (language, main) in [(nil, "en"), ("es", "es"), ("spa", "es"), ("en-GB", "en")] as [(String?, String)] {
            let run = try Self.run { $0.demuxesAudio = true }
            var parameters = MediaSourceParameters()
            parameters.language = language
            let session = try run.proxy.makeURL(path, .singleFile, parameters)
            let lines = try await Self.lines(session, "TYPE=AUDIO")
            #expect(lines.count == 2)
            let first = try #require(lines.first { $0.contains("DEFAULT=YES") })
            #expect(first.contains("NAME=\"\(main)\",LANGUAGE=\"\(main)\""), "\(language ?? ""): \(lines)")
            await run.proxy.stop()
        }
        // a caller learns of every language, also if one is sent with the video
        let run = try Self.run()
        let summary = try await run.proxy.makeURL(path, .singleFile).check()
        #expect(summary.audio.map(\.language) == ["en", "es"] && summary.audio.map(\.isDefault) == [true, false])
        await run.proxy.stop()
    }

    @Test func `of a file that is turned have the size that is shown, and segments of a file no times`() async throws {
        let path = try await film("turned.mp4", ["-c", "copy", "-metadata:s:v:0", "rotate=90"])
        let run = try Self.run()
        let session = try run.proxy.makeURL(path, .singleFile)
        #expect(try await Self.lines(session, "#EXT-X-STREAM-INF").allSatisfy { $0.contains("RESOLUTION=180x320") })
        let segments = try await ProxyRun.segments(of: session)
        #expect(!segments.isEmpty && segments.allSatisfy { !$0.contains("t=") })
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        await run.proxy.stop()
    }

    // MARK: - What a caller learns

    @Test func `of a transport stream go out unchanged, with a warning for a caller who wants fragments`() async throws {
        let path = try await film("film.ts", ["-c", "copy"])
        let traces = Locked<[String]>([])
        var options = PlaylistProxy.Options()
        (options.policy, options.output) = (.open, .fragments)
        let proxy = try PlaylistProxy(options: options) { _ in
        } trace: { event in
            traces.withLock { $0.append(event.message) }
        }
        try proxy.start()
        let session = try proxy.makeURL(path, .singleFile)
        let summary = try await session.check()
        #expect(summary.warnings.count == 1 && summary.warnings[0].contains("transport stream"), "\(summary.warnings)")
        _ = try await ProxyRun.text(session.url)
        #expect(traces.withLock { $0.count { $0.contains("transport stream") } } == 1)
        #expect(try await ProxyRun.segments(of: session).allSatisfy { $0.contains("segment.ts") })
        await proxy.stop()
    }

    @Test func `in a part of a manifest of another origin are not loaded, and the error says so`() async throws {
        let other = MadeOrigin()
        other.put("period.xml", "<Period duration=\"PT6S\"></Period>")
        let link =
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"\(other.url("period.xml"))\" xlink:actuate=\"onLoad\""
        origin.put("linked.mpd", "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\"><Period \(link)/></MPD>")
        let run = try Self.run()
        let got = try await ProxyRun.get(try run.proxy.makeURL(origin.url("linked.mpd"), .dash).url)
        #expect(got.status == 403 && String(decoding: got.body, as: UTF8.self).contains("another origin"))
        #expect(other.requests.isEmpty)
        await run.proxy.stop()
    }

    // MARK: - Audio without a container

    @Test(arguments: ["mp3-packed-implicit-iv", "aac-packed-explicit-iv"])
    func `without a container have the extension of their format, and play`(name: String) async throws {
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(try Fixtures.path("media/hls/\(name).m3u8"), .hls)
        let kind = String(name.prefix(3))
        let segments = try await ProxyRun.segments(of: session)
        #expect(segments.count == 3 && segments.allSatisfy { $0.contains("segment.\(kind)?") })
        var clear: [UInt8] = []
        for segment in segments { clear += try await ProxyRun.get(segment).body }
        let file = directory.write("clear.\(kind)", clear)
        let ffmpeg = try requirePeer("ffmpeg")
        let newer = try StreamingPeer.ffmpeg.path()
        for player in [ffmpeg, newer] {
            let (played, expected) = (try await sound(session.url, player), try await sound(file, player))
            // 8,000 samples a second of two bytes
            #expect(expected > 20 * 16_000 && abs(played - expected) < 3200, "\(player): \(played) of \(expected) bytes")
        }
        let mpv = directory.file("mpv.wav")
        try await checkProcess([
            try requirePeer("mpv"), "--no-config", "--really-quiet", "--no-video", "--oac=pcm_s16le", "--o=\(mpv)", session.url,
        ])
        let (played, expected) = (try await sound(mpv, ffmpeg), try await sound(file, ffmpeg))
        // mpv fills its last buffer
        #expect(abs(played - expected) < 8000, "mpv: \(played) of \(expected) bytes")
        await run.proxy.stop()
    }

    /// The number of bytes of audio that ffmpeg decodes from a source, at 16,000 a second.
    private func sound(_ source: String, _ ffmpeg: String) async throws -> Int {
        let path = directory.file("sound.raw")
        try await checkProcess([
            ffmpeg, "-v", "error", "-nostdin", "-y", "-i", source, "-vn", "-f", "s16le", "-ac", "1", "-ar", "8000", path,
        ])
        return try #require(Fixtures.bytes(at: path)).count
    }
}
