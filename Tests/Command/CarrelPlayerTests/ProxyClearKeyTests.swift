// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

/// `carrel proxy --clear-key` with the ClearKey route of a real server.
@Suite(.serialized) struct `A proxy with a license server of ClearKey` {
    private static let kid = KeyID(label: "a film for stock players")
    private static let key = Hex.encode([UInt8](1...16))
    private static let secret = Secret([UInt8](repeating: 9, count: 32))

    private let directory = TemporaryDirectory()

    private func carrel(_ words: [String], input: String = "") async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words, input: Array(input.utf8), timeout: .seconds(60))
    }

    /// A server with a key, and a film under it. Returns the address of the server.
    private func start() async throws -> (server: BackgroundProcess, url: String) {
        let home = directory.file("home")
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let hex = Self.secret.withBytes { Hex.encode([UInt8](copying: $0)) }
        let steps: [([String], String)] = [
            (["content-key", "add", Self.kid.hex, "--home", home], Self.key),
            (["content-key", "set", Self.kid.hex, "--clear-key", "--home", home], ""),
            (["communication-key", "add", KeyID(label: "portal").uuid, "--home", home], hex),
            (
                [
                    "package", try Fixtures.path("media/src/av-h264-aac.mp4"), "-o", directory.file("film"), "--scheme", "cenc",
                    "--key", "\(Self.kid.hex):\(Self.key)",
                ], ""
            ),
        ]
        for (words, input) in steps {
            let result = try await carrel(words, input: input)
            try #require(result.status.isSuccess, "\(words): \(result.errorText)")
        }
        return (server, line.split(separator: " ").last.map(String.init) ?? "")
    }

    /// The file of a message for the key.
    private func message(_ secret: Secret = secret) throws -> String {
        let key = try LicenseMessage.CommunicationKey(id: KeyID(label: "portal"), secret: secret)
        let entitlement = LicenseMessage.Entitlement(keys: .stored([.init(id: Self.kid)]))
        let text = try LicenseMessage(communicationKeyID: key.id, entitlement: entitlement).write(under: key)
        return directory.write("message.jwt", text + "\n")
    }

    /// Plays the film with ffmpeg, which writes the digests of its pictures.
    private func play(_ options: [String]) async throws -> ProcessResult {
        let hashes = directory.file("hashes")
        let script = "exec ffmpeg -y -v error -nostdin -i \"$1\" -map 0:v -f framemd5 '\(hashes)'"
        let player = directory.write("player", "#!/bin/sh\n\(script)\n")
        try await checkProcess(["chmod", "+x", player])
        try await checkProcess(["rm", "-f", hashes])
        let film = directory.file("film/manifest.mpd")
        let reader = ["--home", directory.file("reader"), "--play", "--player", player]
        return try await carrel(["proxy", film] + reader + options)
    }

    private func digests(_ text: String) -> [Substring] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    @Test func `plays with a license message, and is denied without one, by another one, and by the key`() async throws {
        _ = try requirePeer("ffmpeg")
        let (server, url) = try await start()
        let address = "\(url)/v1/clear-key"
        let token = try message()
        let played = try await play(["--clear-key", address, "--clear-key-token", token])
        #expect(played.status == .exited(0), "\(played.errorText)")
        let clear = try await checkProcess([
            "ffmpeg", "-v", "error", "-nostdin", "-i", try Fixtures.path("media/src/av-h264-aac.mp4"), "-map", "0:v", "-f",
            "framemd5", "-",
        ])
        let expected = digests(clear)
        let found = digests(String(decoding: directory.read("hashes") ?? [], as: UTF8.self))
        #expect(found == expected && expected.count > 100)

        let denied = try await play(["--clear-key", address])
        #expect(denied.status == .exited(77) && denied.errorText.contains("status 403"), "\(denied.errorText)")
        let forged = try message(Secret([UInt8](repeating: 8, count: 32)))
        let refused = try await play(["--clear-key", address, "--clear-key-token", forged])
        #expect(refused.status == .exited(77) && refused.errorText.contains("status 403"), "\(refused.errorText)")
        let home = directory.file("home")
        try #require(
            try await carrel(["content-key", "set", Self.kid.hex, "--no-clear-key", "--home", home]).status.isSuccess
        )
        let withdrawn = try await play(["--clear-key", address, "--clear-key-token", try message()])
        #expect(withdrawn.status == .exited(77) && withdrawn.errorText.contains("status 403"), "\(withdrawn.errorText)")
        #expect(directory.read("hashes") == nil)
        // neither the message nor the key is in an error
        for result in [denied, refused, withdrawn] {
            let text = result.text + result.errorText
            #expect(!text.contains(Self.key) && !text.contains("eyJ"))
        }
        #expect(await server.terminate() == .exited(0))
    }

    @Test func `names what is wrong with the address of the server`() async throws {
        let (server, url) = try await start()
        let token = try message()
        // no ClearKey at this address
        let page = try await play(["--clear-key", "\(url)/", "--clear-key-token", token])
        #expect(page.status == .exited(77) && page.errorText.contains("license server returned status 4"), "\(page.errorText)")
        #expect(await server.terminate() == .exited(0))
        let away = try await play(["--clear-key", "\(url)/v1/clear-key", "--clear-key-token", token])
        #expect(away.status == .exited(77) && away.errorText.contains("no usable response"), "\(away.errorText)")

        let other = LoopbackServer { connection in
            while let request = connection.readRequest() {
                if request.target == "/page" {
                    connection.respond(200, ["Content-Type: text/html"], body: Array("<html>welcome</html>".utf8))
                } else {
                    connection.respond(302, ["Location: /page"])
                }
            }
        }
        for (path, words) in [("page", "not one of ClearKey"), ("moved", "status 302")] {
            let result = try await play(["--clear-key", "http://127.0.0.1:\(other.port)/\(path)"])
            #expect(result.status == .exited(77) && result.errorText.contains(words), "\(result.errorText)")
        }
        for (options, words) in [
            (["--clear-key", "http://drm.example.com/v1/clear-key"], "use https"),
            (["--clear-key", "ftp://127.0.0.1/keys"], "not an address"),
            (["--clear-key-token", token], "needs --clear-key"),
            (["--clear-key", url, "--clear-key-token", directory.file("film/manifest.mpd")], "not a license message"),
        ] {
            let result = try await play(options)
            #expect(result.status == .exited(64) && result.errorText.contains(words), "\(options): \(result.errorText)")
        }
    }
}
