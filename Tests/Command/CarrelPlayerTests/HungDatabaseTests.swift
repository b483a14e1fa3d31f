// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// A server and its commands while PostgreSQL hangs (SIGSTOP).
struct `While the database hangs` {
    private let directory = TemporaryDirectory()

    @Test func `the server says so to monitoring and to the status command, and is ready again afterwards`() async throws {
        let postgres = try await PrivatePostgres.own()
        let options = ["--home", directory.file("home"), "--database", try await postgres.newDatabase()]
        let server = try BackgroundProcess([DemoServer.program, "serve", "--port", "0"] + options)
        let line = try await server.waitForLine(containing: "listening on http")
        let url = line.split(separator: " ").last.map(String.init) ?? ""
        func ready() async throws -> String {
            try await checkProcess(["curl", "-s", "-m", "5", "-w", " %{http_code}", "\(url)/readyz"])
        }
        #expect(try await ready().hasSuffix(" 200"))
        try postgres.freeze()
        let answer = try await ready()
        #expect(answer.contains("the database does not respond") && answer.hasSuffix(" 503"), "\(answer)")
        #expect(try await checkProcess(["curl", "-s", "-m", "5", "\(url)/healthz"]).contains("database"))
        let status = try await runProcess([DemoServer.program, "status"] + options, timeout: .seconds(10))
        #expect(status.status.isSuccess, "\(status.errorText)")
        #expect(status.text.contains("not ready") && status.text.contains("database: away"), "\(status.text)")
        await server.kill()
        let alone = try await runProcess([DemoServer.program, "status"] + options, timeout: .seconds(10))
        #expect(alone.status == .exited(69), "\(alone.errorText)")
        #expect(alone.errorText.contains("the database does not respond"), "\(alone.errorText)")
        try postgres.thaw()
        let again = try await runProcess([DemoServer.program, "status"] + options, timeout: .seconds(20))
        #expect(again.text.hasPrefix("ready"), "\(again.text) \(again.errorText)")
    }
}
