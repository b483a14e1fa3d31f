// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// Real players on the real server: every form of every demo title, encrypted.
@Suite(.serialized)
struct `Players` {
    /// Decoded samples, two bytes each, as ffmpeg gives them without any trimming.
    func decode(_ input: [String]) async throws -> [UInt8] {
        let arguments = ["ffmpeg", "-nostdin", "-v", "error", "-flags2", "+skip_manual"] + input
        let result = try await runProcess(arguments + ["-vn", "-f", "s16le", "-"], timeout: .seconds(120))
        #expect(result.errorText == "")
        #expect(result.status.isSuccess)
        return result.output
    }

    @Test func `ffmpeg decodes every form to the samples of what was ingested`() async throws {
        let server = try await DemoServer()
        #expect(server.titles.count == 2)
        for title in server.titles {
            // An edit list would cut the encoder's delay, which a stream of whole frames still has.
            let original = try await decode(
                ["-ignore_editlist", "1", "-i", title.source].suffix(title.source.hasSuffix(".m4b") ? 4 : 2)
            )
            #expect(original.count > 44_100 * 2 * 30)
            for query in ["", "?format=packed", "?mediaPlaylist=true", "?mediaPlaylist=true&format=packed"] {
                let streamed = try await decode(["-i", server.playlist(title, query)])
                #expect(streamed.count == original.count, "\(title.source) \(query)")
                #expect(streamed == original, "\(title.source) \(query)")
            }
            let length = try await checkProcess([
                "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", server.playlist(title),
            ])
            let seconds = Double(length.split(separator: "\n").first ?? "") ?? 0
            #expect(abs(seconds - title.duration) < 0.15)
        }
        _ = await server.stop()
    }

    @Test func `chapters equal the source's`() async throws {
        let server = try await DemoServer()
        for title in server.titles {
            let listed = try await checkProcess([
                "ffprobe", "-v", "error", "-show_entries", "chapter=start_time", "-of", "csv=p=0", title.source,
            ])
            let starts = listed.split(separator: "\n").compactMap { Double($0) }
            #expect(starts.count >= 3)
            #expect(title.chapters.count == starts.count)
            for (chapter, start) in zip(title.chapters, starts) { #expect(abs(chapter.start - start) < 0.05) }
        }
        _ = await server.stop()
    }

    @Test func `mpv plays to the end`() async throws {
        let mpv = try requirePeer("mpv")
        let server = try await DemoServer()
        let directory = TemporaryDirectory()
        for title in server.titles {
            for query in ["", "?format=packed"] {
                let result = try await runProcess(
                    [
                        mpv, "--no-config", "--no-video", "--ao=pcm", "--ao-pcm-file=\(directory.file("played.wav"))",
                        "--audio-format=s16", "--audio-channels=mono", "--msg-level=all=warn", "--term-status-msg=",
                        server.playlist(title, query),
                    ],
                    timeout: .seconds(120)
                )
                // mpv passes over what it cannot open and still ends well: only its silence says that nothing was missing. Its
                // demuxer reads up to four frames ahead into a packed segment and gives the frames before it that segment's time.
                let complaints = "\(result.text)\n\(result.errorText)".split(separator: "\n")
                #expect(result.status.isSuccess)
                #expect(complaints.filter { query.isEmpty || !$0.hasPrefix("Invalid audio PTS: ") } == [])
                let samples = (directory.read("played.wav")?.count ?? 0) / 2 - 22
                let expected = try await decode(["-i", server.playlist(title, query)]).count / 2
                #expect(abs(samples - expected) <= 4 * 1152, "\(title.source) \(query)")
            }
        }
        _ = await server.stop()
    }

    /// VLC writes what it plays to a file, faster than it could be heard. It refuses to run as root, and gives the packed form of an
    /// MP3, and AAC, one frame fewer than there are.
    @Test func `VLC plays to the end`() async throws {
        let vlc = try requirePeer("vlc")
        let server = try await DemoServer()
        let directory = TemporaryDirectory()
        var command: [String] = []
        if geteuid() == 0 {
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            try await checkProcess(["chown", "nobody", directory.path])
        }
        let played = directory.file("played.wav")
        for title in server.titles {
            for query in ["", "?format=packed", "?mediaPlaylist=true"] {
                let sink = "#transcode{acodec=s16l,channels=1}:std{access=file,mux=wav,dst=\(played)}"
                let options = ["-I", "dummy", "--ignore-config", "--no-media-library", "--no-video", "--play-and-exit"]
                let result = try await runProcess(
                    command + [vlc] + options + ["--sout", sink, server.playlist(title, query)],
                    environment: ["HOME": directory.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
                    timeout: .seconds(120)
                )
                #expect(result.status.isSuccess, "\(result.errorText)")
                let samples = (directory.read("played.wav")?.count ?? 0) / 2 - 22
                let expected = try await decode(["-i", server.playlist(title, query)]).count / 2
                #expect((expected - 1152...expected).contains(samples), "\(title.source) \(query) \(result.errorText)")
                unsafe unlink(played)
            }
        }
        _ = await server.stop()
    }

    @Test func `Chromium plays the playlist itself, and seeks`() async throws {
        let server = try await DemoServer()
        let browser = try await Browser.start(.chromium)
        try await browser.open("\(server.url)/assets/mark.svg")
        for title in server.titles {
            let outcome = try await browser.asyncScript(
                """
                const [url, done] = arguments;
                const audio = new Audio(url);
                audio.onerror = () => done("error " + audio.error.code + " " + audio.error.message);
                audio.ontimeupdate = () => {
                  if (!audio.seekedOnce && audio.currentTime > 0.5) { audio.seekedOnce = true; audio.currentTime = 25; }
                  if (audio.seekedOnce && audio.currentTime > 25.5) done("played");
                };
                audio.play().catch((error) => done("refused " + error));
                """,
                .string(server.playlist(title))
            )
            #expect(outcome.string == "played", "\(title.source)")
        }
        await browser.close()
        _ = await server.stop()
    }

    @Test func `a revocation from the command line stops a player immediately`() async throws {
        let server = try await DemoServer()
        let title = try #require(server.titles.first)
        let playlist = try await checkProcess(["curl", "-sf", server.playlist(title)])
        let segment = try #require(playlist.split(separator: "\n").first { !$0.hasPrefix("#") })
        let address = "\(server.url)/v1/stream/hls/\(title.order)/\(segment)"
        let status = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", address]
        #expect(try await checkProcess(status) == "200")
        _ = try await DemoServer.json(["order", "revoke", "--home", server.home, title.order, "--json"])
        #expect(try await checkProcess(status) == "403")
        #expect(!server.log.contains(title.order), "an order id is a capability: it is not logged")
        #expect(await server.stop() == .exited(0))
    }

    @Test func `a qa order means nothing live`() async throws {
        let server = try await DemoServer()
        let title = try #require(server.titles.first)
        let ingested = try await DemoServer.json([
            "ingest", title.source, "--home", server.home, "--environment", "qa", "--json",
        ])
        let id = try #require(ingested["titles"]?.array?.first?["id"]?.string)
        let order = try await DemoServer.json([
            "order", "create", "--home", server.home, "--environment", "qa", "--title", id, "--account", "test", "--json",
        ])
        let path = try #require(order["playlist"]?.string)
        let status = try await checkProcess(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", server.url + path])
        #expect(status == "404")
        _ = await server.stop()
    }
}
