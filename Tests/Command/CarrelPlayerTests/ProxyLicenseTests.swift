// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel proxy` with the licenses that this device has stored, which a real server issued.
@Suite(.serialized) struct `A stored license` {
    private let directory = TemporaryDirectory()
    private let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL_VAULT_PASSPHRASE": "correct horse battery"]

    /// A server, and a player of this device.
    private struct Site {
        let server: BackgroundProcess
        let url: String
        let authenticator: String
    }

    private func carrel(_ words: [String], input: [UInt8]? = nil) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words, environment: environment, input: input ?? [], timeout: .seconds(120))
    }

    private func json(_ words: [String]) async throws -> JSON {
        let result = try await carrel(words + ["--json"])
        try #require(result.status.isSuccess, "\(words) \(result.errorText)")
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    private var home: String { directory.file("home") }
    private var reader: String { directory.file("reader") }

    private func site(_ options: [String] = []) async throws -> Site {
        let server = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", home, "--port", "0"] + options,
            environment: environment,
            directory: directory.path
        )
        let line = try await server.waitForLine(containing: "listening on http")
        let url = String(line.split(separator: " ").last ?? "")
        let key = try await json(["key", "create", "--home", home, "--role", "service"])
        _ = try await json(["device", "personalize", "--server", url, "--home", reader, "--vault", "file"])
        return Site(server: server, url: url, authenticator: "\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")")
    }

    /// An action token for keys, each with its content and its id.
    private func token(_ site: Site, _ keys: [(content: String, id: String, key: String)]) async throws -> String {
        var fields = [
            ("customerAuthenticator", site.authenticator), ("actionTokenType", "1"), ("rightsType", "BuyToOwn"),
            ("userId", "reader-1"), ("userKey", "00112233445566778899aabbccddeeff"),
            ("outputControlOverride", "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0"),
        ]
        for (place, key) in keys.enumerated() {
            fields += [("contentId.\(place)", key.content), ("kid.\(place)", key.id), ("contentKey.\(place)", key.key)]
        }
        let form = fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let text = try await checkProcess(["curl", "-sS", "-d", form, "\(site.url)/hms/bb/token"])
        try #require(text.contains("<LicenseAcquisition"), "\(text)")
        return directory.write("token.xml", text)
    }

    private static let film = [
        (content: "cid:film", id: "8da1f89c17bba5d7fcce0d33544cb5a4", key: "88576e73d56defe8309278c693790601"),
        (content: "cid:film", id: "ea0aef607cd41785a5c680e49ed7b1cf", key: "a593b8606d0b403f77fe5aacc84cf0d3"),
    ]

    private static let note = [
        (
            content: "cid:shared/note.txt", id: "00112233445566778899aabbccddeeff",
            key: "4151ee2a6a25190e8d1e9bb2a4f6b640"
        )
    ]

    private func plays() async throws -> [Int] {
        let list = try await json(["license", "list", "--home", reader])
        return (list["licenses"]?.array ?? []).map { $0["plays"]?.int ?? -1 }
    }

    /// Plays a source with a program that gets the local address.
    private func play(_ source: String, _ words: [String], _ script: String) async throws -> ProcessResult {
        let player = directory.write("player", "#!/bin/sh\n\(script)\n")
        try await checkProcess(["chmod", "+x", player])
        return try await carrel(["proxy", source, "--home", reader, "--play", "--player", player] + words)
    }

    private func frames(_ script: String) async throws -> [Substring] {
        let text = String(decoding: directory.read("hashes") ?? [], as: UTF8.self)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    @Test func `plays a stream after its token was redeemed, and with --license before`() async throws {
        _ = try requirePeer("ffmpeg")
        let site = try await site()
        let manifest = try Fixtures.path("media/dash/timeline-cenc/manifest.mpd")
        let without = try await play(manifest, [], "exit 0")
        #expect(without.status == .exited(77) && without.errorText.contains("no key is given"), "\(without.errorText)")
        let token = try await token(site, Self.film)
        let script = "exec ffmpeg -y -v error -nostdin -i \"$1\" -map 0:v -f framemd5 '\(directory.file("hashes"))'"
        let played = try await play(manifest, ["--license", token], script)
        #expect(played.status == .exited(0), "\(played.errorText)")
        let clear = try await checkProcess([
            "ffmpeg", "-v", "error", "-nostdin", "-i", try Fixtures.path("media/src/av-h264-aac.mp4"), "-map", "0:v", "-f",
            "framemd5", "-",
        ])
        let expected = clear.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
        #expect(try await frames(script) == expected && expected.count > 100)
        #expect(try await plays() == [1])
        // stored: without the server, and without the option
        _ = await site.server.terminate()
        let again = try await play(manifest, [], script)
        #expect(again.status == .exited(0), "\(again.errorText)")
        #expect(try await plays() == [2])
        // --key first: the vault stays closed, and nothing is counted
        let keys = directory.write("keys", Self.film.map { "\($0.id):\($0.key)" }.joined(separator: "\n"))
        let closed = try await runProcess(
            [
                DemoServer.program, "proxy", manifest, "--home", reader, "--keys", keys, "--play", "--player",
                directory.file("player"),
            ],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"],
            timeout: .seconds(120)
        )
        #expect(closed.status == .exited(0), "\(closed.errorText)")
        #expect(try await plays() == [2])
        let locked = try await runProcess(
            [DemoServer.program, "proxy", manifest, "--home", reader, "--play", "--player", directory.file("player")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        #expect(locked.status == .exited(77) && locked.errorText.contains("passphrase"), "\(locked.errorText)")
    }

    @Test func `is named beside the address, and the compatible system takes no given key for a DCF`() async throws {
        let site = try await site()
        _ = try await json(["token", "redeem", try await token(site, Self.note), "--home", reader])
        let list = try await json(["license", "list", "--home", reader])
        let id = try #require(list["licenses"]?.array?.first?["id"]?.string)
        let file = try Fixtures.path("media/dcf/note.ctr.dcf")
        let note = directory.file("note")
        let played = try await play(file, ["--json"], "exec curl -sf -o '\(note)' \"$1\"")
        #expect(played.status == .exited(0), "\(played.errorText)")
        let bytes = Array(played.text.utf8)
        let printed = try JSON.parse(bytes.rawSpan)
        #expect(printed["licenses"] == [.string(id)] && printed["source"]?["kind"] == "dcf")
        #expect(directory.read("note") == Fixtures.bytes(at: try Fixtures.path("media/src/note.txt")))
        _ = await site.server.terminate()
        // the compatible system has no such keys
        let refused = try await carrel([
            "proxy", file, "--home", directory.file("empty"), "--policy", "compatible", "--key",
            "cid:shared/note.txt:4151ee2a6a25190e8d1e9bb2a4f6b640",
        ])
        #expect(refused.status == .exited(77) && refused.errorText.contains("output controls"), "\(refused.errorText)")
    }

    @Test(arguments: [0, 1]) func `plays an order's audiobook without a request for its keys`(rotation: Int) async throws {
        _ = try requirePeer("ffmpeg")
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=30", "-c:a", "libmp3lame", sound,
        ])
        let made = try await json(["ingest", sound, "--home", home])
        let title = try #require(made["titles"]?.array?.first?["id"]?.string)
        let site = try await site(["--stream-key-rotation", "\(rotation)"])
        let token = directory.file("alice.xml")
        _ = try await json(["token", "create", "--home", home, "--title", title, "--account", "alice", "--output", token])
        let redeemed = try await json(["token", "redeem", token, "--home", reader])
        #expect(redeemed["content"]?.string == "urn:carrel:title:\(title)")
        let orders = try await json(["order", "list", "--home", home])
        let order = try #require(orders["orders"]?.array?.first?["id"]?.string)
        let address = "\(site.url)/v1/stream/hls/\(order)/playlist.m3u8?offline=true"
        let text = try await checkProcess(["curl", "-sf", address])
        #expect(text.contains("URI=\"offline://") && text.contains("rotation=1") == (rotation > 0))
        // downloaded: the playlist with its segments, and no key
        var lines: [String] = []
        for line in text.split(separator: "\n") {
            guard !line.hasPrefix("#") else {
                lines.append(String(line))
                continue
            }
            let name = "segment-\(lines.count).\(line.split(separator: ".").last ?? "ts")"
            let url = URIReference.resolve(String(line), against: address)
            try await checkProcess(["curl", "-sf", "-o", directory.file(name), url])
            lines.append(name)
        }
        let playlist = directory.write("book.m3u8", lines.joined(separator: "\n") + "\n")
        _ = await site.server.terminate()
        let wave = directory.file("book.wav")
        let played = try await play(playlist, [], "exec ffmpeg -y -v error -nostdin -i \"$1\" -map 0:a '\(wave)'")
        #expect(played.status == .exited(0), "\(played.errorText)")
        let duration = try await checkProcess([
            "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", wave,
        ])
        #expect(abs((Double(duration.split(separator: "\n").first ?? "") ?? 0) - 30) < 0.5)
        #expect(try await plays() == [1])
    }

    @Test func `is counted before its first byte, also for a process that is killed`() async throws {
        let site = try await site()
        _ = try await json(["token", "redeem", try await token(site, Self.note), "--home", reader])
        let folder = DemoServer.program.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }
        let program = folder + "/PlayerProgram"
        let dcf = try Fixtures.path("media/dcf/note.ctr.dcf")
        var random = SplitMix(seed: 27)
        var before = 0
        for round in 0..<10 {
            let words = [program, "\(reader)/reader", dcf, "100000", "stream"]
            let process = try BackgroundProcess(words, environment: environment)
            let wanted = Int(random.next() % 12)
            if wanted > 0 { _ = try await process.waitForLine(containing: "bytes \(wanted)") }
            _ = await process.kill()
            let streams = process.output.split(separator: "\n").filter { $0.hasPrefix("bytes ") }.count
            let now = try await plays().reduce(0, +)
            #expect(streams >= wanted)
            // the last play may have been counted without its bytes, and never the other way round
            #expect(streams...streams + 1 ~= now - before, "round \(round)")
            before = now
        }
        _ = await site.server.terminate()
    }
}
