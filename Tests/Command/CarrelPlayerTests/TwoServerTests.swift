// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Two servers, each with a home of its own, on one PostgreSQL: what an operator does at one, the other knows.
struct `Two servers on one database` {
    private let directory = TemporaryDirectory()

    private struct Pair {
        let here, there: BackgroundProcess
        let urls: [String]
        let options: [String]
        let title: String
    }

    private func carrel(_ arguments: [String], input: String = "") async throws -> String {
        let ended = try await runProcess([DemoServer.program] + arguments, input: Array(input.utf8), timeout: .seconds(60))
        try #require(ended.status.isSuccess, "\(arguments): \(ended.errorText)")
        return ended.text
    }

    /// Both with the same content; the second home is a copy of the first, as another machine would have it.
    private func start() async throws -> Pair {
        let options = ["--home", directory.file("here"), "--database", try await PrivatePostgres.shared().newDatabase()]
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=25", "-c:a", "libmp3lame", sound,
        ])
        let title = try await DemoServer.json(["ingest", sound, "--json"] + options)["titles"]?.array?.first?["id"]?.string
        let zip = directory.file("issue.zip")
        directory.write("index.html", "<html><title>Seven</title>for subscribers</html>")
        try await checkProcess([try requirePeer("zip"), "-qj", zip, directory.file("index.html")])
        _ = try await carrel(["ingest", zip, "--product-id", "com.example.7", "--price", "paid"] + options)
        _ = try await carrel(["plan", "create", "gold"] + options)
        for name in ["alice", "bob"] {
            _ = try await carrel(["account", "create", name, "--password-stdin"] + options, input: "correct horse battery\n")
            _ = try await carrel(["plan", "grant", name, "gold"] + options)
        }
        try await checkProcess(["cp", "-a", directory.file("here"), directory.file("there")])
        var (servers, urls): ([BackgroundProcess], [String]) = ([], [])
        for home in ["here", "there"] {
            let place = ["--home", directory.file(home)] + options.dropFirst(2)
            let server = try BackgroundProcess([DemoServer.program, "serve", "--port", "0"] + place)
            let line = try await server.waitForLine(containing: "listening on http")
            servers.append(server)
            urls.append(line.split(separator: " ").last.map(String.init) ?? "")
        }
        return Pair(here: servers[0], there: servers[1], urls: urls, options: options, title: try #require(title))
    }

    private func status(_ url: String, _ options: String...) async throws -> String {
        try await checkProcess(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"] + options + [url])
    }

    /// Waits until the answer is another than it was, and returns it.
    private func change(_ url: String, _ options: [String] = [], from old: String) async throws -> String {
        for _ in 0..<100 {
            let now = try await checkProcess(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"] + options + [url])
            if now != old { return now }
            try await Task.sleep(for: .milliseconds(50))
        }
        return old
    }

    @Test func `refuse at both what was revoked at one`() async throws {
        let pair = try await start()
        let (here, there) = (pair.urls[0], pair.urls[1])
        let (alice, bob) = (try await DemoServer.credentials(here, "alice"), try await DemoServer.credentials(there, "bob"))
        let edition = "\(there)/editions/com.example.7/index.html"
        for who in [alice, bob] {
            #expect(try await status("\(here)/editions/com.example.7/index.html", "-u", who) == "200")
            #expect(try await status(edition, "-u", who) == "200")
        }
        _ = try await carrel(["account", "suspend", "alice"] + pair.options)
        for url in ["\(here)/editions/com.example.7/index.html", edition] {
            #expect(try await change(url, ["-u", alice], from: "200") == "403")
        }
        #expect(try await status(edition, "-u", bob) == "200")

        let order = try await DemoServer.json(
            ["order", "create", "--title", pair.title, "--account", "carol", "--json"] + pair.options
        )["id"]?.string
        let stream = "\(there)/v1/stream/hls/\(try #require(order))"
        let playlist = try await checkProcess(["curl", "-sf", "\(stream)/playlist.m3u8"])
        let segment = try #require(playlist.split(separator: "\n").first { !$0.hasPrefix("#") })
        #expect(try await status("\(stream)/\(segment)") == "200")
        _ = try await carrel(["order", "revoke", try #require(order)] + pair.options)
        #expect(try await change("\(stream)/\(segment)", from: "200") == "403")
        for server in [pair.there, pair.here] { #expect(await server.terminate() == .exited(0)) }
    }
}
