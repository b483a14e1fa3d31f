// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// Commands on a folder that is not a home.
struct `A mistyped home` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("typo") }

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
    }

    private func isAbsent(_ path: String) async throws -> Bool {
        try await !runProcess(["test", "-e", path]).status.isSuccess
    }

    @Test(arguments: [
        ["title", "list"], ["keys", "rotate"], ["keys", "show"], ["account", "create", "alice"], ["backup", "out.db"],
        ["config", "check"], ["upstream", "check", "bureau"], ["explain", "alice", "issue-1"], ["admin", "setup-link"],
        ["status"],
    ])
    func `is refused with status 66 by a command that creates none, and stays absent`(command: [String]) async throws {
        let refused = try await runProcess([DemoServer.program] + command + ["--home", home], timeout: .seconds(60))
        #expect(refused.status == .exited(66), "\(refused.errorText)")
        #expect(refused.errorText.contains("carrel: error: there is no home at \(home)"))
        #expect(refused.errorText.contains("carrel: hint: check --home"))
        #expect(try await isAbsent(home))
    }

    @Test func `is refused where the folder exists without a database, and gets neither database nor key`() async throws {
        try await checkProcess(["mkdir", home])
        directory.write("typo/carrel.conf", "http.port = 8081\n")
        let refused = try await carrel("title", "list")
        #expect(refused.status == .exited(66))
        #expect(refused.errorText.contains("is not a home: it has no database"), "\(refused.errorText)")
        directory.write("typo/carrel.db", [])
        #expect(try await carrel("title", "list").status == .exited(66), "an emptied database is none")
        #expect(directory.read("typo/master.key") == nil)
        #expect(directory.read("typo/carrel.db") == [])
        #expect(try await carrel("config", "check").text.contains("8081"), "settings are read before there is a home")
    }

    @Test func `has no environment but those that were created`() async throws {
        #expect(try await carrel("init").status == .exited(0))
        let refused = try await carrel("title", "list", "--environment", "qa")
        #expect(refused.status == .exited(66))
        #expect(refused.errorText.contains("the home \(home) has no environment 'qa'"))
        #expect(try await isAbsent("\(home)/qa"))
        let made = try await carrel("init", "--environment", "qa")
        #expect(made.errorText.contains("created a home at \(home)/qa"), "\(made.errorText)")
        #expect(try await carrel("title", "list", "--environment", "qa").status == .exited(0))
    }

    @Test func `is created by init, which says so once and changes nothing afterwards`() async throws {
        let made = try await carrel("init", "--json")
        #expect(made.status == .exited(0))
        #expect(made.errorText == "created a home at \(home)\n", "\(made.errorText)")
        #expect(made.text.contains("\"created\": true") || made.text.contains("\"created\":true"), "\(made.text)")
        let key = directory.read("typo/master.key")
        #expect(key != nil)
        let again = try await carrel("init")
        #expect(again.status == .exited(0) && again.text == "\(home)\n" && again.errorText.isEmpty, "\(again.errorText)")
        #expect(directory.read("typo/master.key") == key)
        #expect(try await carrel("title", "list").status == .exited(0))
    }

    @Test func `is not created for a path or a backup that is mistyped too`() async throws {
        #expect(try await carrel("ingest", directory.file("none.mp3")).status == .exited(66))
        #expect(try await carrel("restore", directory.file("none.db")).status == .exited(66))
        #expect(try await carrel("restore", directory.write("bad.db", [1, 2, 3])).status != .exited(0))
        #expect(try await carrel("serve", "--http-bind", "nowhere", "--port", "0").status != .exited(0))
        #expect(try await isAbsent(home))
    }

    @Test func `is created by restore and by serve, which say so`() async throws {
        #expect(try await carrel("init").status == .exited(0))
        let backup = directory.file("backup.db")
        #expect(try await carrel("backup", backup).status == .exited(0))
        let other = directory.file("other")
        let restored = try await runProcess([DemoServer.program, "restore", backup, "--home", other], timeout: .seconds(60))
        #expect(restored.status == .exited(78), "\(restored.errorText)")
        #expect(restored.errorText.contains("other/master.key is missing"))
        #expect(restored.errorText.contains("created a home at \(other)"))
        #expect(directory.read("other/master.key") == nil, "the key of a database in use is never created")

        let third = directory.file("third")
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", third, "--port", "0"])
        _ = try await server.waitForLine(containing: "listening on http")
        #expect(server.errors.contains("created a home at \(third)"))
        #expect(await server.terminate() == .exited(0))
    }
}
