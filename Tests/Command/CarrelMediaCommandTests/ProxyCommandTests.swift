// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `The command proxy` {
    private static let keys = [
        "--key", "8da1f89c17bba5d7fcce0d33544cb5a4:88576e73d56defe8309278c693790601", "--key",
        "ea0aef607cd41785a5c680e49ed7b1cf:a593b8606d0b403f77fe5aacc84cf0d3",
    ]

    private static func command(_ more: String...) throws -> [String] {
        [try CarrelProgram.path(), "proxy", try Fixtures.path("media/cenc/av.cenc.mp4")] + keys + more
    }

    @Test func `prints its address, and ends when its standard input does`() async throws {
        let result = try await runProcess(try Self.command(), timeout: .seconds(30))
        #expect(result.status == .exited(0))
        #expect(result.text.hasPrefix("http://127.0.0.1:") && result.text.hasSuffix("/index.m3u8\n"))
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `ends with a signal`(signal: Int32) async throws {
        let process = try BackgroundProcess(try Self.command())
        try await eventually { process.output.contains("index.m3u8") }
        process.signal(signal)
        #expect(try await process.waitForExit() == .exited(0))
    }

    @Test func `ends with its player, and passes its failure on`() async throws {
        let good = try await runProcess(try Self.command("--play", "--player", "true"), timeout: .seconds(30))
        #expect(good.status == .exited(0))
        let bad = try await runProcess(try Self.command("--play", "--player", "false"), timeout: .seconds(30))
        #expect(bad.status == .exited(1) && bad.errorText.contains("the player ended with status 1"))
        let missing = try await runProcess(try Self.command("--play", "--player", "no-such-player"), timeout: .seconds(30))
        #expect(missing.status == .exited(64) && missing.errorText.contains("there is no player 'no-such-player'"))
        #expect(missing.text == "")
        let idle = try await runProcess(try Self.command("--player", "true"), timeout: .seconds(30))
        #expect(idle.status == .exited(64) && idle.errorText.contains("--player needs --play"))
    }

    @Test func `plays in mpv`() async throws {
        let mpv = try requirePeer("mpv")
        let directory = TemporaryDirectory()
        let player = directory.write("mpv", "#!/bin/sh\nexec \(mpv) --vo=null --ao=null --length=1 \"$@\"\n")
        try await checkProcess(["chmod", "+x", player])
        let result = try await runProcess(try Self.command("--play", "--player", player, "--trace"), timeout: .seconds(60))
        #expect(result.status == .exited(0))
        #expect(result.errorText.contains("a segment was sent"))
    }

    @Test func `starts a browser of its own, which one that runs already does not replace`() async throws {
        let directory = TemporaryDirectory()
        let notes = directory.file("notes")
        // notes its words, and whether its profile is there
        let player = directory.write(
            "chromium",
            """
            #!/bin/sh
            folder=$(printf '%s\\n' "$@" | sed -n 's/^--user-data-dir=//p')
            test -d "$folder" && touch "$folder/lock" && printf '%s\\n' "$folder" "$@" > '\(notes)'
            """
        )
        try await checkProcess(["chmod", "+x", player])
        for _ in 0..<2 {
            let result = try await runProcess(try Self.command("--play", "--player", player), timeout: .seconds(30))
            #expect(result.status == .exited(0), "\(result.errorText)")
            let words = String(decoding: directory.read("notes") ?? [], as: UTF8.self).split(separator: "\n")
            #expect(words.last?.hasSuffix("/player.html") == true)
            let folder = try #require(words.first)
            #expect(words.count { $0 == "--user-data-dir=\(folder)" } == 1)
            var status = stat()
            #expect(unsafe stat(String(folder), &status) != 0)
        }
    }

    @Test func `names what is wrong with a source`() async throws {
        let missing = try await runProcess([try CarrelProgram.path(), "proxy", "/no/such/film.mp4"], timeout: .seconds(30))
        #expect(missing.status == .exited(66) && missing.errorText.contains("/no/such/film.mp4 cannot be opened"))
        let plain = try await runProcess(
            [try CarrelProgram.path(), "proxy", "http://example.org/film.mpd"],
            timeout: .seconds(30)
        )
        #expect(plain.status == .exited(77) && plain.errorText.contains("plain http"))
    }

    // MARK: - The check of the source

    private static func run(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([try CarrelProgram.path(), "proxy"] + arguments, timeout: .seconds(60))
    }

    @Test func `prints no address of a source that cannot be played, and says what can be done`() async throws {
        let media = try Fixtures.path("media")
        let wrong: [(source: String, status: Int32, words: String, hint: String)] = [
            ("\(media)/cenc/av.cenc.mp4", 77, "no key", "pass its key with --keys or --key"),
            ("\(media)/dash/timeline-cenc/manifest.mpd", 77, "no key", "pass its key with --keys or --key"),
            ("\(media)/dcf/mp3.cbc.dcf", 77, "no key", "pass its key with --keys or --key"),
            ("\(media)/src/av-h264-aac.mp4", 77, "no track is protected", "play it without the proxy, or use --policy open"),
            ("\(media)/src/note.txt", 65, "note.txt is of no kind", "Name a playlist"),
            ("\(media)/cenc", 66, "is a folder", "Name the file"),
            ("\(media)/none.mpd", 66, "cannot be opened", "Check the path"),
            ("ftp://example.org/film.mpd", 64, "scheme 'ftp'", "Use https"), ("", 64, "the source is empty", ""),
            ("https://no-such-host.invalid/film.mpd", 66, "no-such-host.invalid", "Check the path or the network"),
        ]
        for (source, status, words, hint) in wrong {
            let result = try await Self.run(source)
            #expect(result.status == .exited(status) && result.text == "", "\(source): \(result.errorText)")
            #expect(result.errorText.contains(words) && result.errorText.contains("hint: \(hint)"), "\(result.errorText)")
        }
    }

    @Test func `prints no address that a server does not know, nor of a server that is away`() async throws {
        let server = LoopbackServer { connection in
            while connection.readRequest() != nil { guard connection.respond(404) else { return } }
        }
        let result = try await Self.run("http://127.0.0.1:\(server.port)/film.mpd?token=secret")
        #expect(result.status == .exited(66) && result.text == "")
        #expect(
            result.errorText.contains("film.mpd does not exist") && result.errorText.contains("check the path or the address")
        )
        #expect(!result.errorText.contains("secret"))
        let away = try await Self.run("http://127.0.0.1:1/film.mpd")
        #expect(away.status == .exited(66) && away.text == "", "\(away.errorText)")
    }

    @Test func `waits three seconds for a slow source, and prints its address then`() async throws {
        let server = LoopbackServer { connection in
            _ = connection.readRequest()
            while connection.read() != nil {}
        }
        let began = ContinuousClock.now
        let process = try BackgroundProcess([try CarrelProgram.path(), "proxy", "http://127.0.0.1:\(server.port)/film.mpd"])
        try await eventually { process.output.contains("index.m3u8") }
        #expect(began.duration(to: .now) > .seconds(2.9))
        #expect(process.errors.contains("the source is slow"))
        process.signal(SIGTERM)
        #expect(try await process.waitForExit() == .exited(0))
    }

    @Test func `ends with a signal while it checks`() async throws {
        let server = LoopbackServer { connection in
            _ = connection.readRequest()
            while connection.read() != nil {}
        }
        let process = try BackgroundProcess([try CarrelProgram.path(), "proxy", "http://127.0.0.1:\(server.port)/film.mpd"])
        try await eventually { server.connectionCount > 0 }
        process.signal(SIGINT)
        #expect(try await process.waitForExit() == .exited(0))
        #expect(!process.output.contains("http://127.0.0.1"))
    }

    @Test func `has the facts of the source in its JSON`() async throws {
        let result = try await runProcess(try Self.command("--json", "--output", "fmp4"), timeout: .seconds(30))
        #expect(result.status == .exited(0) && result.errorText == "")
        let bytes = Array(result.text.utf8)
        let json = try JSON.parse(bytes.rawSpan)
        #expect(json.object?.map(\.name) == ["url", "page", "type", "version", "source", "licenses"])
        #expect(json["url"]?.string?.hasSuffix("/index.m3u8") == true && json["page"]?.string?.hasSuffix("/player.html") == true)
        #expect(json["type"]?.string == "file" && json["version"]?.string?.hasPrefix("1.") == true)
        let source = try #require(json["source"])
        #expect(source["kind"]?.string == "mp4" && source["live"]?.bool == false)
        #expect((9.0...11).contains(source["duration"]?.double ?? 0), "\(result.text)")
        #expect(source["protection"]?.array?.compactMap(\.string) == ["Common Encryption (cenc)"])
        let variant = try #require(source["variants"]?.array?.first)
        #expect((variant["bandwidth"]?.int ?? 0) > 10_000 && variant["codecs"]?.string?.hasPrefix("avc1.") == true)
        #expect((variant["width"]?.int ?? 0) > 0 && (variant["height"]?.int ?? 0) > 0)
        #expect(source["audio"]?.array?.count == 1 && source["audio"]?.array?[0]["default"]?.bool == true)
        #expect(source["subtitles"]?.array?.isEmpty == true)
        let played = try await runProcess(try Self.command("--json", "--play", "--player", "true"), timeout: .seconds(30))
        let text = Array(played.text.utf8)
        #expect(played.status == .exited(0) && played.errorText == "")
        #expect(try JSON.parse(text.rawSpan)["source"]?["kind"]?.string == "mp4")
        // the address has its own token, and there is no key
        #expect(!result.text.contains("88576e73"))
    }

    // MARK: - Sources and tracks

    @Test func `reads its source from standard input, whose end ends it`() async throws {
        let source = try Fixtures.path("media/cenc/av.cenc.mp4")
        let words = [try CarrelProgram.path(), "proxy", "-"] + Self.keys
        let result = try await runProcess(words, input: Array(" \(source) \r\nmore\n".utf8), timeout: .seconds(30))
        #expect(result.status == .exited(0) && result.text.hasPrefix("http://127.0.0.1:"), "\(result.errorText)")
        let both = try await runProcess([try CarrelProgram.path(), "proxy", "-", "--keys", "-"], timeout: .seconds(30))
        #expect(both.status == .exited(64) && both.errorText.contains("either the source or the keys"))
        for input in ["", "\n", "  \nfilm.mp4\n", String(repeating: "a", count: 20_000)] {
            let empty = try await runProcess(words, input: Array(input.utf8), timeout: .seconds(30))
            #expect(empty.status == .exited(64) && empty.text == "" && empty.errorText.contains("standard input"))
        }
    }

    @Test func `takes tracks, subtitles and fields of requests`() async throws {
        let folder = try Fixtures.path("media/dash/number-clear")
        let seen = Locked<[String?]>([])
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let name = request.target.split(separator: "/").last.map(String.init) ?? ""
                seen.withLock { $0.append(request["X-Token"]) }
                guard let bytes = Fixtures.bytes(at: "\(folder)/\(name)") else { return _ = connection.respond(404) }
                connection.write("HTTP/1.1 200 Test\r\nContent-Length: \(bytes.count)\r\n\r\n")
                guard connection.write(bytes) else { return }
            }
        }
        let directory = TemporaryDirectory()
        let text = directory.write("sub titles.vtt", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nOne\n")
        let source = "http://127.0.0.1:\(server.port)/manifest.mpd"
        let result = try await Self.run(
            source,
            "--json",
            "--subtitles",
            text,
            "--subtitle-language",
            "de",
            "--header",
            "X-Token: secret",
            "--video-track",
            "0",
            "--audio-track",
            "0"
        )
        #expect(result.status == .exited(0), "\(result.errorText)")
        let bytes = Array(result.text.utf8)
        let subtitles = try JSON.parse(bytes.rawSpan)["source"]?["subtitles"]?.array
        #expect(subtitles?.count == 1 && subtitles?.first?["language"]?.string == "de")
        #expect(!seen.withLock { $0 }.isEmpty && seen.withLock { $0 }.allSatisfy { $0 == "secret" })
        for (option, value, words) in [
            ("--video-track", "7", "no video track 7"), ("--audio-track", "id:none", "no audio track 'none'"),
            ("--video-track", "first", "neither a number"), ("--header", "secret", "not a field"),
            ("--header", "Host: secret", "header field"), ("--subtitles", "/no/such.vtt", "cannot be opened"),
        ] {
            let refused = try await Self.run(source, option, value)
            #expect(refused.status == .exited(64) && refused.text == "", "\(refused.errorText)")
            #expect(refused.errorText.contains(words), "\(refused.errorText)")
        }
    }

    @Test func `of an MS3 address needs a player on this device, and shows no token`() async throws {
        let directory = TemporaryDirectory()
        let token = "AAwAAwAAAxkAAlRXPGAAECBR0l7K6dxdkxUSrLNplXU"
        let address = "ms3://rights.example/hms/ms3/rights/?b=\(token)#https%3A%2F%2Fcdn.example%2Ffilm.mpd"
        let words = [try CarrelProgram.path(), "proxy", "-", "--home", directory.path]
        let alone = try await runProcess(words, input: Array("\(address)\n".utf8), timeout: .seconds(30))
        #expect(alone.status == .exited(66) && alone.text == "" && alone.errorText.contains("there is no player"))
        #expect(alone.errorText.contains("carrel device personalize"))
        let broken = try await runProcess(words, input: Array(address.prefix { $0 != "#" }.utf8), timeout: .seconds(30))
        #expect(broken.status == .exited(64) && broken.errorText.contains("no content location"), "\(broken.errorText)")
        #expect(!(alone.errorText + broken.errorText).contains(token))
    }

    // MARK: - The line of a terminal

    @Test(arguments: [[], ["--quiet"], ["--json"], ["--trace"]])
    func `draws a line of what the player has on a terminal, unless another output is wanted`(more: [String]) async throws {
        let script = try requirePeer("script")
        let directory = TemporaryDirectory()
        // a player that takes everything and stays a moment
        let player = directory.write(
            "player",
            """
            #!/bin/sh
            ffmpeg -v quiet -nostdin -i "$1" -f null - < /dev/null > /dev/null 2>&1
            sleep 1
            """
        )
        _ = try requirePeer("ffmpeg")
        try await checkProcess(["chmod", "+x", player])
        let words = try Self.command("--play", "--player", player) + more
        let line = words.map { "'\($0)'" }.joined(separator: " ")
        let result = try await runProcess(
            [script, "-qec", "stty cols 100; \(line)", "/dev/null"],
            timeout: .seconds(60)
        )
        #expect(result.status == .exited(0), "\(result.text)")
        #expect(result.text.contains("index.m3u8"))
        #expect(result.text.contains(" buffered ") == more.isEmpty, "\(result.text)")
        if more.isEmpty {
            #expect(result.text.contains("0:10 of 0:10 sent") && result.text.contains("bit/s"), "\(result.text)")
            // the line is taken away
            #expect(result.text.hasSuffix("\u{1b}[K"), "\(result.text.debugDescription)")
        }
    }
}
