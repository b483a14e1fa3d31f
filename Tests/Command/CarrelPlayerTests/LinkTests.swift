// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPServer
import CarrelTesting
import Testing

/// Links into a server lead to a host that it answers for.
struct `Links that commands print` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func serve(_ options: [String]) async throws -> (process: BackgroundProcess, port: String) {
        let process = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"] + options)
        let line = try await process.waitForLine(containing: "listening on http")
        return (process, String(try #require(line.split(separator: ":").last)))
    }

    private func link(_ command: [String], _ options: [String] = []) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + command + ["--home", home] + options)
    }

    private let commands = [["account", "sign-in-link", "alice"], ["admin", "setup-link"]]

    @Test(
        arguments: [
            ([], "http://127.0.0.1:PORT/"),
            (["--bind", "0.0.0.0", "--http-allowed-hosts", "audio.example.org,other"], "http://audio.example.org:PORT/"),
            (["--bind", "0.0.0.0", "--http-public-url", "https://books.example.org/x"], "https://books.example.org/x/"),
        ] as [([String], String)]
    )
    func `lead to the public address, the first allowed host, or this machine`(_ options: [String], _ start: String) async throws
    {
        let (process, port) = try await serve(options)
        for command in commands {
            let made = try await link(command)
            #expect(made.text.hasPrefix(start.replacing("PORT", with: port)), "\(made.text) \(made.errorText)")
        }
        #expect(await process.terminate() == .exited(0))
    }

    @Test(arguments: [[], ["--http-allowed-hosts", "*"]])
    func `are not made where no host is known, with what to set`(_ options: [String]) async throws {
        let (process, _) = try await serve(["--bind", "0.0.0.0"] + options)
        for command in commands {
            let made = try await link(command)
            #expect(made.status != .exited(0) && made.text == "")
            #expect(
                made.errorText.contains("http.public-url") && made.errorText.contains("http.allowed-hosts"),
                "\(made.errorText)"
            )
            #expect(try await link(command, ["--url", "https://x.example"]).text.hasPrefix("https://x.example/"))
        }
        #expect(await process.terminate() == .exited(0))
    }

    @Test func `for the first owner appear on a terminal only, and elsewhere the command that makes one is named`() async throws {
        let (process, _) = try await serve([])
        let line = try await process.waitForError(containing: "no owner yet")
        #expect(line.contains("carrel admin setup-link --home \(home)") && !process.errors.contains("setup="))
        #expect(await process.terminate() == .exited(0))
        let script = try requirePeer("script")
        let terminal = try BackgroundProcess(
            [script, "-qfec", "\(DemoServer.program) serve --home \(home) --port 0", "/dev/null"]
        )
        _ = try await terminal.waitForLine(containing: "/admin/#setup=")
        _ = await terminal.terminate()
    }
}
