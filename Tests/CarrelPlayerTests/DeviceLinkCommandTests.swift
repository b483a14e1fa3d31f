import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

struct `The command for linking a device` {
    @Test func `prints a code, waits until a reader types it, and says whose the device is`() async throws {
        let server = try await AdminSite()
        let directory = TemporaryDirectory()
        let reader = directory.file("reader")
        let environment = ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
        func device(_ words: String...) -> [String] { [DemoServer.program, "device"] + words + ["--home", reader, "--json"] }
        let early = try await runProcess(device("link"), environment: environment)
        #expect(early.status == .exited(66) && early.errorText.contains("there is no player"))
        _ = try await checkProcess(device("personalize", "--server", server.url), environment: environment)
        _ = try await checkProcess([DemoServer.program, "account", "create", "alice", "--home", server.home])
        let token = try await DemoServer.json(["account", "token", "alice", "--home", server.home, "--json"])["token"]?.string
        let link = try BackgroundProcess(device("link"), environment: environment)
        let line = try await link.waitForLine(containing: "type ")
        let code = try #require(line.split(separator: " ").map { String($0) }.first { $0.count == 9 && $0.contains("-") })
        #expect(line.contains("\(server.url)/account/link"))
        let page = try await checkProcess([
            "curl", "-sS", "-H", "Authorization: Bearer \(token ?? "")", "-d", "code=\(code)&answer=yes",
            "\(server.url)/account/link",
        ])
        #expect(page.contains("Device linked"))
        _ = try await link.waitForLine(containing: "\"account\"")
        let answer = Array(link.output.utf8)
        #expect(try JSON.parse(answer.rawSpan)["account"] == "alice", "\(link.output)")
        let listed = try await DemoServer.json(["player", "list", "--account", "alice", "--home", server.home, "--json"])
        #expect(listed["players"]?.array?.count == 1)
        _ = await link.terminate()
        await server.stop()
    }
}
