// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// The whole path of a license with marked secrets: none of them is in a log, an output, a file or a core.
struct `Marked secrets of players and licenses` {
    private let directory = TemporaryDirectory()
    private let passphrase = "a marked passphrase of plums"
    /// A content key inline in a token, and one of the key store.
    private let keys = ["6d61726b65642d6b65792d6f6e652d31", "6d61726b65642d6b65792d74776f2d32"]
    private let kid = "000102030405060708090a0b0c0d0e0f"

    private var reader: String { directory.file("reader") }
    private var home: String { directory.file("home") }
    private var environment: [String: String] { ["CARREL_VAULT_PASSPHRASE": passphrase, "PATH": "/usr/bin:/bin"] }

    /// Bytes in the forms that a log or a file could have.
    private static func forms(_ hex: String) throws -> [[UInt8]] {
        let bytes = try #require(Hex.decode(hex))
        return [bytes] + [hex, hex.uppercased(), Base64.encode(bytes), Base64URL.encode(bytes)].map { Array($0.utf8) }
    }

    /// A command of the reader with its steps and calls on standard error.
    private func carrel(_ words: [String], input: String = "") async throws -> ProcessResult {
        let command = [DemoServer.program] + words + ["--home", reader]
        return try await runProcess(command, environment: environment, directory: directory.path, input: Array(input.utf8))
    }

    /// The file that has one of the marks; grep reads bytes.
    private func places(of mark: [UInt8], in folders: [String]) async throws -> String {
        let pattern = mark.map { "\\x" + Hex.encode([$0]) }.joined()
        return try await checkProcess(["sh", "-c", "LC_ALL=C grep -rlaP '\(pattern)' \(folders.joined(separator: " ")) || true"])
    }

    @Test func `are in no log, output or file`() async throws {
        let options = ["--port", "0"]
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home] + options, directory: directory.path)
        let url = try await server.waitForLine(containing: "listening on http").split(separator: " ").last.map(String.init) ?? ""
        var outputs: [UInt8] = []
        var marks = try keys.flatMap { try Self.forms($0) } + [Array(passphrase.utf8)]
        let made = try await DemoServer.json(["key", "create", "--home", home, "--role", "service", "--json"])
        let authenticator = try #require(made["key"]?.string)
        marks.append(Array(authenticator.utf8))
        let added = try await runProcess(
            [DemoServer.program, "content-key", "add", kid, "--home", home],
            input: Array(keys[1].utf8)
        )
        #expect(added.status.isSuccess, "\(added.errorText)")
        outputs += added.output + added.errors
        _ = try await DemoServer.json(["account", "create", "alice", "--home", home, "--json"])
        let session = try await DemoServer.json(["account", "token", "alice", "--home", home, "--json"])["token"]?.string ?? ""
        marks.append(Array(session.utf8))
        let person = try await carrel(
            ["device", "personalize", "--server", url, "--vault", "file", "--session-stdin"],
            input: session + "\n"
        )
        #expect(person.status.isSuccess, "\(person.errorText)")
        outputs += person.output + person.errors

        for (number, content) in ["contentKey=\(keys[0])", "kid=\(kid)"].enumerated() {
            let form =
                "customerAuthenticator=\(made["id"]?.string ?? ""),\(authenticator)&actionTokenType=1&rightsType=BuyToOwn"
                + "&contentId=cid:film-\(number)&\(content)"
            // once in the body, and once where proxies and logs see it
            let body = try await checkProcess(["curl", "-sS", "-d", form, "\(url)/hms/bb/token"])
            _ = try await checkProcess(["curl", "-sS", "\(url)/hms/bb/token?\(form)"])
            let start = try #require(body.firstRange(of: "<BusinessToken>")?.upperBound, "\(body)")
            let token = String(body[start...].prefix { $0 != "<" })
            #expect(token.utf8.count > 100)
            marks += [Array(token.utf8.dropFirst(30).prefix(60)), Array((Base64.decode(token) ?? []).dropFirst(30).prefix(40))]
            let redeemed = try await carrel(["token", "redeem", "-", "--trace", "--json"], input: body)
            #expect(redeemed.status.isSuccess && redeemed.errorText.contains("/v1/license: 200"), "\(redeemed.errorText)")
            let json = Array(redeemed.text.utf8)
            let license = try #require(try JSON.parse(json.rawSpan)["license"]?.string)
            outputs += redeemed.output + redeemed.errors
            let shown = try await carrel(["token", "show", directory.write("token.xml", Array(body.utf8))])
            unsafe unlink(directory.file("token.xml"))
            outputs += shown.output + shown.errors
            let program =
                DemoServer.program.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/PlayerProgram"
            let played = try await runProcess([program, "\(reader)/reader", "cid:film-\(number)", "1"], environment: environment)
            #expect(played.text == "playing 1\n", "\(played.text)")
            for words in [
                ["license", "show", license], ["license", "renew", license], ["license", "evaluate", "cid:film-\(number)"],
            ] {
                let result = try await carrel(words + ["--trace", "--json"])
                #expect(result.status.isSuccess, "\(result.errorText)")
                outputs += result.output + result.errors
            }
            let forged = token.prefix(60) + (token.dropFirst(60).first == "A" ? "B" : "A") + token.dropFirst(61)
            let wrong = try await carrel(["token", "redeem", "-", "--trace"], input: body.replacing(token, with: forged))
            #expect(!wrong.status.isSuccess)
            outputs += wrong.output + wrong.errors
        }
        let one = try await carrel(["license", "list", "--json"])
        let first = Array(one.text.utf8)
        let license = try #require(try JSON.parse(first.rawSpan)["licenses"]?.array?.first?["id"]?.string)
        let released = try await carrel(["license", "release", license, "--trace"])
        outputs += one.output + one.errors + released.output + released.errors
        _ = await server.terminate()
        #expect(server.errors.contains("/hms/bb/token") || server.output.contains("/hms/bb/token"), "there is an access log")
        outputs += Array(server.output.utf8) + Array(server.errors.utf8)
        directory.write("outputs", outputs)
        for mark in marks {
            let found = try await places(of: mark, in: [home, reader, directory.file("outputs")])
            #expect(found.isEmpty, "\(String(decoding: mark, as: UTF8.self)): \(found)")
        }
        // the search finds existing text
        #expect(try await places(of: Array("/hms/bb/token".utf8), in: [directory.file("outputs")]).isEmpty == false)
        #expect(try await places(of: Array("SQLite format 3".utf8), in: [home]).isEmpty == false)
    }

    /// `ulimit -c unlimited` and SIGABRT: a program without secrets leaves a core where the system writes cores to files.
    @Test func `leave no core, be it the reader's or the server's`() async throws {
        func command(_ words: [String]) -> [String] { ["bash", "-c", "ulimit -c unlimited; exec \"$@\"", "bash"] + words }
        func cores() async throws -> String {
            try await checkProcess(["find", directory.path, "-maxdepth", "1", "-name", "core*"])
        }
        // Swift's own report of a crash would only take time.
        let quiet = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]
        let server = try BackgroundProcess(
            command([DemoServer.program, "serve", "--home", home, "--port", "0"]),
            environment: quiet,
            directory: directory.path
        )
        let url = try await server.waitForLine(containing: "listening on http").split(separator: " ").last.map(String.init) ?? ""
        let person = [DemoServer.program, "device", "personalize", "--server", url, "--vault", "file", "--home", reader]
        // The device waits for an answer, with its passphrase and its keys in memory.
        server.signal(SIGSTOP)
        let device = try BackgroundProcess(
            command(person),
            environment: environment.merging(quiet) { $1 },
            directory: directory.path
        )
        _ = try await device.waitForLine(containing: "keys (1")
        device.signal(SIGABRT)
        #expect(try await device.waitForExit() == .signaled(SIGABRT))
        server.signal(SIGABRT)
        server.signal(SIGCONT)
        #expect(try await server.waitForExit() == .signaled(SIGABRT))
        #expect(try await cores().isEmpty)
        let other = try BackgroundProcess(command(["sleep", "600"]), directory: directory.path)
        for _ in 0..<100
        where Fixtures.bytes(at: "/proc/\(other.processID)/comm").map({ String(decoding: $0, as: UTF8.self) }) != "sleep\n" {
            try await Task.sleep(for: .milliseconds(20))
        }
        other.signal(SIGABRT)
        _ = try await other.waitForExit()
        let pattern = Fixtures.bytes(at: "/proc/sys/kernel/core_pattern").map { String(decoding: $0, as: UTF8.self) } ?? ""
        if pattern.hasPrefix("core") { #expect(try await !cores().isEmpty, "another program's core is there") }
    }
}
