// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel proxy` with MS3 addresses of a real server: the device's player redeems their tokens, and its license has the keys.
@Suite(.serialized) struct `An MS3 address of a server` {
    private let directory = TemporaryDirectory()
    private let origin: LoopbackServer

    init() throws {
        let media = try Fixtures.path("media")
        origin = LoopbackServer { connection in
            while let request = connection.readRequest() {
                guard var bytes = Fixtures.bytes(at: "\(media)\(request.target)") else {
                    guard connection.respond(404) else { return }
                    continue
                }
                var head = "HTTP/1.1 200 Test\r\n"
                let range = request["Range"]?.split(separator: "=").last?.split(separator: "-").compactMap { Int($0) }
                if let range, range.count == 2, range[0] < bytes.count {
                    let end = min(range[1], bytes.count - 1)
                    head = "HTTP/1.1 206 Test\r\nContent-Range: bytes \(range[0])-\(end)/\(bytes.count)\r\n"
                    bytes = Array(bytes[range[0]...end])
                }
                connection.write("\(head)Content-Length: \(bytes.count)\r\n\r\n")
                guard connection.write(bytes) else { return }
            }
        }
    }

    private let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL_VAULT_PASSPHRASE": "correct horse battery"]

    /// A server, a player of this device, and a portal that asks for tokens.
    private struct Site {
        let server: BackgroundProcess
        let url: String
        let authenticator: String
        let client = HTTPClient()

        /// A compound URL to content.
        func address(_ content: String, _ fields: [(name: String, value: String)]) async throws -> String {
            var request = ClientRequest(url + "/hms/ms3/token")
            request.method = .post
            request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            let all = [("customerAuthenticator", authenticator), ("errorFormat", "json"), ("contentURL", content)] + fields
            let form = all.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
            request.body = .bytes(Array(form.utf8))
            let text = String(decoding: try await client.send(request).body, as: UTF8.self)
            try #require(text.contains("/hms/ms3/rights/?b="), "\(text)")
            return text
        }
    }

    private func site() async throws -> Site {
        let home = directory.file("home")
        let server = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", home, "--port", "0"],
            environment: environment,
            directory: directory.path
        )
        let line = try await server.waitForLine(containing: "listening on http")
        let url = String(line.split(separator: " ").last ?? "")
        let key = try await DemoServer.json(["key", "create", "--home", home, "--role", "service", "--json"])
        let made = try await runProcess(
            [
                DemoServer.program, "device", "personalize", "--server", url, "--home", directory.file("reader"), "--vault",
                "file",
            ],
            environment: environment
        )
        try #require(made.status.isSuccess, "\(made.errorText)")
        return Site(server: server, url: url, authenticator: "\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")")
    }

    /// Plays an address with a program that gets the local one, and returns what the proxy and that program write.
    private func play(_ address: String, _ script: String) async throws -> ProcessResult {
        let player = directory.write("player", "#!/bin/sh\n\(script)\n")
        try await checkProcess(["chmod", "+x", player])
        return try await runProcess(
            [DemoServer.program, "proxy", "-", "--home", directory.file("reader"), "--play", "--player", player],
            environment: environment,
            input: Array("\(address)\n".utf8),
            timeout: .seconds(120)
        )
    }

    @Test func `plays DASH with the keys of the license, and gives the stream back`() async throws {
        _ = try requirePeer("ffmpeg")
        let site = try await site()
        let keys = [
            ("8da1f89c17bba5d7fcce0d33544cb5a4", "88576e73d56defe8309278c693790601"),
            ("ea0aef607cd41785a5c680e49ed7b1cf", "a593b8606d0b403f77fe5aacc84cf0d3"),
        ]
        var fields: [(name: String, value: String)] = []
        for (place, key) in keys.enumerated() {
            fields += [("contentId.\(place)", "cid:film"), ("kid.\(place)", key.0), ("contentKey.\(place)", key.1)]
        }
        let content = "http://127.0.0.1:\(origin.port)/dash/timeline-cenc/manifest.mpd"
        let address = try await site.address(content, fields)
        let hashes = directory.file("hashes")
        let result = try await play(address, "exec ffmpeg -v error -nostdin -i \"$1\" -map 0:v -f framemd5 - > '\(hashes)'")
        #expect(result.status == .exited(0), "\(result.errorText)")
        let clear = try await checkProcess([
            "ffmpeg", "-v", "error", "-nostdin", "-i", try Fixtures.path("media/src/av-h264-aac.mp4"), "-map", "0:v", "-f",
            "framemd5", "-",
        ])
        let played = String(decoding: directory.read("hashes") ?? [], as: UTF8.self)
        #expect(Self.frames(played) == Self.frames(clear) && Self.frames(clear).count > 100)
        let token = try #require(address.split(separator: "?b=").last?.split(separator: "#").first)
        #expect(!result.text.contains(token) && !result.errorText.contains(token))
        // with the end of the command the stream was given back, and its token is used up
        let again = try await play(address, "exit 0")
        #expect(again.status == .exited(77) && again.errorText.contains("the license was given back"), "\(again.errorText)")
        _ = await site.server.terminate()
    }

    private static func frames(_ text: String) -> [Substring] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    @Test func `has a DCF where its token lifts the rule of the output, and is refused otherwise`() async throws {
        _ = try requirePeer("curl")
        let site = try await site()
        let content = "http://127.0.0.1:\(origin.port)/dcf/note.ctr.dcf"
        let key: [(name: String, value: String)] = [
            ("contentId", "cid:shared/note.txt"), ("contentKey", "4151ee2a6a25190e8d1e9bb2a4f6b640"),
        ]
        let note = directory.file("note")
        let script = "exec curl -sf -o '\(note)' \"$1\""
        let kept = try await play(try await site.address(content, key), script)
        #expect(kept.status == .exited(77) && kept.errorText.contains("output controls"), "\(kept.errorText)")
        let lifted = try await site.address(content, key + [("ms3Extension", "wudo,false,AAAAAA==")])
        let open = try await play(lifted, script)
        #expect(open.status == .exited(0), "\(open.errorText)")
        #expect(directory.read("note") == Fixtures.bytes(at: try Fixtures.path("media/src/note.txt")))
        // a token that is none
        let token = try #require(lifted.split(separator: "?b=").last?.split(separator: "#").first)
        let other = String(token.dropLast(6)) + "AAAAAA"
        let refused = try await play(lifted.replacing(token, with: other), script)
        #expect(refused.status == .exited(77) && refused.errorText.contains("the rights are refused"), "\(refused.errorText)")
        #expect(!refused.errorText.contains(other))
        _ = await site.server.terminate()
        let away = try await play(lifted, script)
        #expect(away.status == .exited(66) && away.errorText.contains("gives no answer"), "\(away.errorText)")
    }
}
