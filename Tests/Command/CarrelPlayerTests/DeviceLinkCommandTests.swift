// SPDX-License-Identifier: Apache-2.0

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
        let first = Array(try await link.waitForLine(containing: "\"code\"").utf8)
        let event = try JSON.parse(first.rawSpan)
        let code = try #require(event["code"]?.string)
        #expect(event["event"] == "code" && event["address"]?.string == "\(server.url)/account/link" && code.count == 9)
        #expect(event["completeAddress"]?.string?.contains(code) == true)
        let page = try await checkProcess([
            "curl", "-sS", "-H", "Authorization: Bearer \(token ?? "")", "-d", "code=\(code)&answer=yes",
            "\(server.url)/account/link",
        ])
        #expect(page.contains("Device linked"))
        _ = try await link.waitForLine(containing: "\"account\"")
        let lines = link.output.split(separator: "\n").filter { $0.hasPrefix("{") }
        #expect(lines.count == 2)
        let last = Array((lines.last ?? "").utf8)
        let answer = try JSON.parse(last.rawSpan)
        #expect(answer["event"] == "linked" && answer["account"] == "alice", "\(link.output)")
        let listed = try await DemoServer.json(["player", "list", "--account", "alice", "--home", server.home, "--json"])
        #expect(listed["players"]?.array?.count == 1)
        _ = await link.terminate()
        await server.stop()
    }
}
