// SPDX-License-Identifier: Apache-2.0

import CarrelRights
import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The commands of a device with a real server: the whole path from a title to a decision, with the JSON that scripts rely on.
struct `A device` {
    private let directory = TemporaryDirectory()

    private func carrel(_ words: [String], passphrase: String? = "correct horse battery") async throws -> ProcessResult {
        var environment = ["PATH": "/usr/bin:/bin", "HOME": directory.path]
        environment["CARREL_VAULT_PASSPHRASE"] = passphrase
        return try await runProcess([DemoServer.program] + words, environment: environment, directory: directory.path)
    }

    private func json(_ words: String...) async throws -> JSON {
        let result = try await carrel(words + ["--json"])
        #expect(result.status.isSuccess, "\(words.joined(separator: " ")): \(result.errorText)")
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    private func title() async throws -> String {
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "libmp3lame", sound,
        ])
        return try #require(try await json("ingest", sound, "--home", "home")["titles"]?.array?.first?["id"]?.string)
    }

    @Test func `goes from a title to a license by each form of a token, and decides by it`() async throws {
        let title = try await title()
        let server = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"],
            environment: ["PATH": "/usr/bin:/bin", "CARREL_VAULT_PASSPHRASE": "of a reader"]
        )
        let line = try await server.waitForLine(containing: "listening on http")
        let url = try #require(line.split(separator: " ").last.map(String.init))
        let player = try await json("device", "personalize", "--server", url, "--home", "reader", "--vault", "file")
        #expect(player["player"]?.string?.count == 36 && player["level"]?.string == "passphrase")
        let made = try await json("token", "create", "--home", "home", "--title", title, "--account", "alice")
        let (ms3, bb, jwt) = (
            try #require(made["ms3"]?.string), try #require(made["bb"]?.string), try #require(made["jwt"]?.string)
        )
        #expect(ms3.hasPrefix("https://localhost:") && ms3.contains("/hms/ms3/rights/?b="))
        let content = "urn:carrel:title:\(title)"
        func evaluate() async throws -> JSON {
            try await json("license", "evaluate", content, "--home", "reader", "--action", "play")
        }
        let before = try await evaluate()
        #expect(before["granted"] == false && before["reason"] == "no-license" && before["until"] == .null)
        let stream = try await json("token", "redeem", ms3, "--home", "reader")
        #expect(stream.object?.names.sorted() == ["content", "license", "until"] && stream["content"]?.string == content)
        #expect(stream["until"]?.string != nil)
        #expect(try await evaluate()["granted"] == false, "a stream's license is not kept")
        let stored = try await json("token", "redeem", bb, "--home", "reader")
        let again = try await json("token", "redeem", jwt, "--home", "reader")
        #expect(stored["license"] == again["license"] && stored["license"] != stream["license"])
        #expect(stored["content"]?.string == content && stored["until"] == .null)
        let after = try await evaluate()
        #expect(after.object?.names.sorted() == ["granted", "kids", "obligations", "reason", "secondsLeft", "until"])
        #expect(after["granted"] == true && after["reason"] == .null)
        // a license for a title lifts the default output rule
        #expect(after["obligations"]?.array?.map { $0["type"]?.string } == ["wudo"])
        let orders = try await json("order", "list", "--home", "home")["orders"]?.array ?? []
        #expect(orders.count == 1, "three forms of a token are one order")
        // what another device, and no device, get
        #expect(try await carrel(["token", "redeem", bb, "--home", "other"]).status == .exited(66))
        _ = try await json("device", "personalize", "--server", url, "--home", "other", "--vault", "file")
        let used = try await carrel(["token", "redeem", bb, "--home", "other"])
        #expect(used.status == .exited(65) && used.errorText.contains("redeemed as often as it may be"))
        // no terminal and no passphrase
        let silent = try await carrel(["license", "list", "--home", "reader"], passphrase: nil)
        #expect(silent.status == .exited(77) && silent.errorText.contains("CARREL_VAULT_PASSPHRASE"))
        let fresh = ["device", "personalize", "--server", url, "--home", "third", "--vault", "file"]
        #expect(try await carrel(fresh, passphrase: nil).status == .exited(77))
        await server.terminate()
    }

    @Test func `that the server does not know has no records`() async throws {
        #expect(try await carrel(["init", "--home", "home"]).status.isSuccess)
        for list in ["licenses", "redemptions", "denials"] {
            let unknown = try await carrel(["player", list, "no-such-player", "--home", "home"])
            #expect(unknown.status == .exited(65) && unknown.errorText.contains("there is no such player"), "\(unknown.text)")
        }
        #expect(try await carrel(["player", "licenses", "--home", "home"]).status.isSuccess)
    }

    @Test func `shows a license as revoked once it knows, and removes it with those that have ended`() async throws {
        let title = try await title()
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = try #require(line.split(separator: " ").last.map(String.init))
        _ = try await json("device", "personalize", "--server", url, "--home", "reader", "--vault", "file")
        let made = try await json("token", "create", "--home", "home", "--title", title)
        let redeemed = try await json("token", "redeem", try #require(made["jwt"]?.string), "--home", "reader")
        let license = try #require(redeemed["license"]?.string)
        #expect(try await carrel(["player", "revoke-license", license, "--home", "home"]).status.isSuccess)
        func isRevoked() async throws -> JSON? {
            try await json("license", "list", "--home", "reader")["licenses"]?.array?.first?["revoked"]
        }
        #expect(try await isRevoked() == false, "the device does not know yet")
        let old = try #require(directory.read("reader/reader/player.json"))
        _ = try await json("device", "update", "--home", "reader")
        #expect(try await isRevoked() == true)
        #expect(try await carrel(["license", "list", "--home", "reader"]).text.contains(" revoked "))
        // the file alone comes back from a backup
        directory.write("reader/reader/player.json", old)
        let listed = try await carrel(["license", "list", "--home", "reader"])
        #expect(listed.text.contains(license) && listed.errorText.contains("it is not known which licenses are revoked"))
        let refused = try await carrel(["license", "evaluate", "urn:carrel:title:\(title)", "--home", "reader"])
        #expect(refused.status == .exited(74) && refused.errorText.contains("personalize --renew"), "\(refused.errorText)")
        _ = try await json("device", "personalize", "--renew", "--server", url, "--home", "reader")
        #expect(try await isRevoked() == true)
        #expect(try await json("license", "remove", "--expired", "--home", "reader")["removed"] == 1)
        #expect(try await json("license", "list", "--home", "reader")["licenses"] == [])
        await server.terminate()
    }

    @Test func `traces each step without the token, and gives its license back`() async throws {
        let title = try await title()
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = try #require(line.split(separator: " ").last.map(String.init))
        _ = try await json("device", "personalize", "--server", url, "--home", "reader", "--vault", "file")
        let end = "2096-01-01T00:00:00Z"
        let long = ["token", "create", "--home", "home", "--title", title, "--rights", "rental", "--play-duration", "3600"]
        #expect(try await carrel(long + ["--period-end", end]).status == .exited(65))
        let periodEnd = (Instant.now() + .seconds(86_400)).wholeSecond
        let made = try await json(
            "token",
            "create",
            "--home",
            "home",
            "--title",
            title,
            "--rights",
            "rental",
            "--play-duration",
            "3600",
            "--period-end",
            "\(periodEnd)"
        )
        let jwt = try #require(made["jwt"]?.string)
        let redeemed = try await carrel(["token", "redeem", jwt, "--home", "reader", "--trace", "--json"])
        let trace = redeemed.errorText
        #expect(trace.contains("POST \(url)/v1/license: 200") && trace.contains("license: verified (4 of 4)"))
        #expect(jwt.split(separator: ".").allSatisfy { !trace.contains($0) })
        let bytes = Array(redeemed.text.utf8)
        let license = try #require(try JSON.parse(bytes.rawSpan)["license"]?.string)
        #expect(try JSON.parse(bytes.rawSpan)["until"]?.string == "\(periodEnd)")
        let list = try await json("license", "list", "--home", "reader")["licenses"]?.array ?? []
        #expect(list.count == 1 && list[0]["id"]?.string == license)
        let shown = try await carrel(["license", "show", license, "--home", "reader"])
        #expect(shown.text.contains("\"playback\": 3600") && !shown.text.contains("\"key\""))
        _ = try await json("license", "renew", license, "--home", "reader")
        let updated = try await json("device", "update", "--home", "reader")
        #expect(updated["certainty"] == "signed" && updated["reported"] == 0)
        let released = try await json("license", "release", license, "--home", "reader")
        #expect(released["reported"] == true)
        let licenses = try await json("player", "licenses", "--home", "home")["licenses"]?.array ?? []
        #expect(licenses.first?["endedBy"]?.string == "release")
        let gone = try await carrel(["license", "renew", license, "--home", "reader"])
        #expect(!gone.status.isSuccess && gone.errorText.contains("there is no license \(license) on this device"))
        await server.terminate()
    }
}
