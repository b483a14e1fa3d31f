// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel download` and `carrel play` with licenses that a real server issues.
@Suite(.serialized) struct `A licensed download` {
    private let directory = TemporaryDirectory()
    private let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL_VAULT_PASSPHRASE": "correct horse battery"]

    private struct Site {
        let server: BackgroundProcess
        let url: String
        let authenticator: String
    }

    private func carrel(_ words: [String]) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words, environment: environment, input: [], timeout: .seconds(120))
    }

    private func json(_ words: [String]) async throws -> JSON {
        let result = try await carrel(words + ["--json"])
        try #require(result.status.isSuccess, "\(words) \(result.errorText)")
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    private var home: String { directory.file("home") }
    private var reader: String { directory.file("reader") }

    private func site() async throws -> Site {
        let server = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", home, "--port", "0"],
            environment: environment,
            directory: directory.path
        )
        let line = try await server.waitForLine(containing: "listening on http")
        let url = String(line.split(separator: " ").last ?? "")
        let key = try await json(["key", "create", "--home", home, "--role", "service"])
        _ = try await json(["device", "personalize", "--server", url, "--home", reader, "--vault", "file"])
        return Site(server: server, url: url, authenticator: "\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")")
    }

    /// An action token for the film's keys.
    private func token(_ site: Site, _ rights: [(String, String)]) async throws -> String {
        let keys = [
            ("8da1f89c17bba5d7fcce0d33544cb5a4", "88576e73d56defe8309278c693790601"),
            ("ea0aef607cd41785a5c680e49ed7b1cf", "a593b8606d0b403f77fe5aacc84cf0d3"),
        ]
        var fields =
            [
                ("customerAuthenticator", site.authenticator), ("actionTokenType", "1"), ("userId", "reader-1"),
                ("userKey", "00112233445566778899aabbccddeeff"),
                ("outputControlOverride", "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0"),
            ] + rights
        for (place, key) in keys.enumerated() {
            fields += [("contentId.\(place)", "cid:film"), ("kid.\(place)", key.0), ("contentKey.\(place)", key.1)]
        }
        let form = fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let text = try await checkProcess(["curl", "-sS", "-d", form, "\(site.url)/hms/bb/token"])
        try #require(text.contains("<LicenseAcquisition"), "\(text)")
        return directory.write("token.xml", text)
    }

    private func play(_ id: String, _ script: String, _ words: [String] = []) async throws -> ProcessResult {
        let player = directory.write("player", "#!/bin/sh\n\(script)\n")
        try await checkProcess(["chmod", "+x", player])
        return try await carrel(["play", id, "--home", reader, "--player", player] + words)
    }

    private func frames() -> Int {
        String(decoding: directory.read("hashes") ?? [], as: UTF8.self).split(separator: "\n").count { !$0.hasPrefix("#") }
    }

    private var whole: String {
        "exec ffmpeg -y -v error -xerror -nostdin -i \"$1\" -map 0:v -f framemd5 '\(directory.file("hashes"))'"
    }

    @Test func `plays without its server, and its trace has no key and no token`() async throws {
        let site = try await site()
        let manifest = try Fixtures.path("media/dash/timeline-cenc/manifest.mpd")
        let token = try await token(site, [("rightsType", "BuyToOwn")])
        let added = try await carrel([
            "download", "add", manifest, "--home", reader, "--token", token, "--title", "Film", "--trace",
        ])
        #expect(added.status.isSuccess, "\(added.errorText)")
        for words in ["key-delivery", "download", " ms "] { #expect(added.errorText.contains(words), "\(added.errorText)") }
        let secret = String(decoding: directory.read("token.xml") ?? [], as: UTF8.self)
        let leaks =
            ["88576e73", "a593b860"]
            + secret.split { !$0.isLetter && !$0.isNumber }.filter { $0.utf8.count > 32 }.map(String.init)
        for leak in leaks { #expect(!added.errorText.contains(leak)) }
        await site.server.terminate()
        let played = try await play("Film", whole, ["--trace"])
        #expect(played.status.isSuccess, "\(played.errorText)")
        #expect(frames() > 100)
        #expect(played.errorText.contains("key-delivery") && played.errorText.contains("persistable key"), "\(played.errorText)")
    }

    @Test func `ends with its term, also in the middle, and has a status of its own`() async throws {
        let site = try await site()
        let manifest = try Fixtures.path("media/dash/timeline-cenc/manifest.mpd")
        let token = try await token(
            site,
            [("rightsType", "Rental"), ("rental.periodEndTime", "+12"), ("rental.playDuration", "86400")]
        )
        let item = try await json(["download", "add", manifest, "--home", reader, "--token", token, "--title", "Film"])
        let id = try #require(item["id"]?.string)
        #expect(item["state"]?.string == "completed" && item["until"]?.string != nil, "\(item)")
        await site.server.terminate()
        // a player that begins again and again, until it is refused
        let ended = try await play(id, "while ffmpeg -v error -xerror -nostdin -i \"$1\" -map 0:v -f null -; do sleep 0.3; done")
        #expect(ended.status == .exited(80), "\(ended.errorText)")
        #expect(ended.errorText.contains("renew"), "\(ended.errorText)")
        let listed = try await json(["download", "list", "--home", reader])
        #expect(listed["downloads"]?.array?.first?["state"]?.string == "expired")
        let again = try await carrel(["play", id, "--home", reader, "--print-url", "--json"])
        #expect(again.status == .exited(80) && again.text == "", "\(again.errorText)")
        #expect(again.errorText.contains("\"keys.expired\""), "\(again.errorText)")
    }

    @Test func `of an order ends with the order, in a folder without a player`() async throws {
        _ = try requirePeer("ffmpeg")
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=30", "-c:a", "libmp3lame", sound,
        ])
        let made = try await json(["ingest", sound, "--home", home])
        let title = try #require(made["titles"]?.array?.first?["id"]?.string)
        let server = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", home, "--port", "0"],
            environment: environment,
            directory: directory.path
        )
        let line = try await server.waitForLine(containing: "listening on http")
        let url = String(line.split(separator: " ").last ?? "")
        let order = try await json([
            "order", "create", "--home", home, "--title", title, "--account", "alice", "--kind", "loan", "--end", "+20s",
        ])
        let id = try #require(order["id"]?.string)
        let address = "\(url)/v1/stream/hls/\(id)/playlist.m3u8"
        let item = try await json(["download", "add", address, "--home", reader, "--title", "Tone"])
        #expect(item["state"]?.string == "completed" && item["until"]?.string != nil, "\(item)")
        await server.terminate()
        let wave = directory.file("tone.wav")
        let played = try await play("Tone", "exec ffmpeg -y -v error -xerror -nostdin -i \"$1\" -map 0:a '\(wave)'")
        #expect(played.status.isSuccess, "\(played.errorText)")
        let duration = try await checkProcess([
            "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", wave,
        ])
        #expect(abs((Double(duration.split(separator: "\n").first ?? "") ?? 0) - 30) < 0.5)
        let ended = try await play(
            "Tone",
            "while ffmpeg -v error -xerror -nostdin -i \"$1\" -map 0:a -f null -; do sleep 0.3; done"
        )
        #expect(ended.status == .exited(80), "\(ended.errorText)")
        let renewing = try await carrel(["download", "renew", "Tone", "--home", reader])
        #expect(!renewing.status.isSuccess, "its server is away")
    }
}
