// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// One server in front of another, as an operator would set them up.
struct `A server that asks another` {
    private let directory = TemporaryDirectory()

    private func start(_ arguments: [String]) async throws -> (server: BackgroundProcess, url: String) {
        let server = try BackgroundProcess([DemoServer.program, "serve", "--port", "0"] + arguments)
        let line = try await server.waitForLine(containing: "listening on http")
        return (server, line.split(separator: " ").last.map(String.init) ?? "")
    }

    @Test func `says what it says, and keeps to its fail policy when it is gone`() async throws {
        let (inner, innerURL) = try await start(["--home", directory.file("inner"), "--canned-users"])
        let home = directory.file("outer")
        let set = try await runProcess(["mkdir", "-p", "\(home)/upstream"])
        #expect(set.status.isSuccess)
        let settings = "upstream.url = \(innerURL)\nupstream.fail-policy = last-known-good\nupstream.fail-memory = 1h\n"
        _ = directory.write("outer/upstream/inner.conf", settings)
        _ = directory.write("outer/carrel.conf", "subscription.sources = inner, accounts\n")
        let check = try await runProcess([DemoServer.program, "config", "check", "--home", home, "--json"])
        #expect(check.status.isSuccess && String(decoding: check.output, as: UTF8.self).contains("\"inner\""))
        func carrel(_ arguments: String...) async throws -> ProcessResult {
            try await runProcess([DemoServer.program] + arguments + ["--home", home])
        }
        #expect(try await carrel("upstream", "check", "inner").status == .exited(0))
        let (outer, outerURL) = try await start(["--home", home])

        func ask(_ call: String, _ form: String...) async throws -> String {
            var command = ["curl", "-s", "-w", " %{http_code}"]
            for field in form { command += ["--data-urlencode", field] }
            return try await checkProcess(command + ["\(outerURL)/\(call)/"])
        }
        let signedIn = try await ask("sign_in", "username=activesome", "password=x")
        #expect(signedIn.contains("<token>emosevitca</token>"))
        let verified = try await ask("verify_subscription", "token=emosevitca")
        #expect(verified.contains("state=\"active\"") && verified.contains("com.pugpig.edition0099"))
        let (listed, other) = ("product_id=com.pugpig.edition0001", "product_id=com.pugpig.edition0003")
        #expect(try await ask("edition_credentials", "token=emosevitca", listed).contains("<userid>"))
        #expect(try await ask("edition_credentials", "token=emosevitca", "product_id=x").contains("notentitled"))

        let explained = try await carrel("explain", "activesome", "com.pugpig.edition0001")
        #expect(explained.status.isSuccess, "\(explained.errorText)")
        let words = String(decoding: explained.output, as: UTF8.self)
        #expect(words.contains("inner: asked\n") && words.contains("by upstream inner\n"), "\(words)")
        #expect(words.contains("accounts: no such account\n"))

        _ = await inner.terminate()
        #expect(try await carrel("upstream", "check", "inner").status == .exited(75))
        #expect(try await carrel("upstream", "check", "other").status == .exited(66))
        #expect(try await ask("edition_credentials", "token=emosevitca", listed).contains("<userid>"))
        #expect(try await ask("edition_credentials", "token=emosevitca", other).hasSuffix(" 503"))
        #expect(try await ask("verify_subscription", "token=emosevitca") == verified)
        #expect(try await ask("verify_subscription", "token=llaevitca").hasSuffix(" 503"))
        #expect(try await ask("edition_credentials", "token=llaevitca", listed).contains("notrecognised"))
        #expect(try await ask("sign_in", "username=activeall", "password=x").hasSuffix(" 503"))
        let metrics = try await checkProcess(["curl", "-s", "\(outerURL)/metrics"])
        #expect(metrics.contains("carrel_upstream_standins_total{source=\"inner\",call=\"edition_credentials\""))
        #expect(metrics.contains("carrel_upstream_unavailable{source=\"inner\"} 1"))
        _ = await outer.terminate()
    }
}
