// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// A home whose database is gone, or is another's, as an operator meets it.
struct `A home with another home's database` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func carrel(_ arguments: String..., home: String? = nil) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments + ["--home", home ?? self.home], timeout: .seconds(60))
    }

    private func ingest(into home: String, seconds: Int) async throws {
        let path = directory.file("tone-\(seconds).mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=\(seconds)", "-c:a", "libmp3lame", path,
        ])
        try await checkProcess([DemoServer.program, "ingest", path, "--home", home])
        // old enough for a sweep
        try await checkProcess(["find", "\(home)/blobs", "-type", "f", "-exec", "touch", "-d", "2 days ago", "{}", ";"])
    }

    private func blobs() async throws -> String {
        try await checkProcess(["sh", "-c", "find \(home)/blobs -type f | sort"])
    }

    @Test func `starts nothing and loses nothing when the database is missing, until it is put back`() async throws {
        try await ingest(into: home, seconds: 2)
        let backup = directory.file("backup.db")
        try await checkProcess([DemoServer.program, "backup", backup, "--home", home])
        let before = try await blobs()
        try await checkProcess(["sh", "-c", "rm \(home)/carrel.db*"])
        for arguments in [["serve", "--port", "0"], ["init"], ["ingest", directory.file("tone-2.mp3")]] {
            let refused = try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
            #expect(refused.status == .exited(78), "\(arguments): \(refused.errorText)")
            #expect(refused.errorText.contains("\(home)/blobs contains media, but their database"))
            #expect(refused.errorText.contains("carrel: hint: nothing was changed: check --home"))
        }
        #expect(try await carrel("title", "list").status == .exited(66))
        #expect(try await blobs() == before)
        #expect(directory.read("home/carrel.db") == nil)
        #expect(try await carrel("restore", backup).status == .exited(0))
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        _ = try await server.waitForLine(containing: "listening on http")
        #expect(await server.terminate() == .exited(0))
        #expect(try await blobs() == before)
    }

    @Test func `starts nothing and loses nothing with the database of another home`() async throws {
        try await ingest(into: home, seconds: 2)
        let other = directory.file("other")
        try await ingest(into: other, seconds: 3)
        let before = try await blobs()
        // with its write-ahead log, if a process left one, and without the log of the database it replaces
        let replace = "rm -f '\(home)'/carrel.db* && cp '\(other)'/carrel.db* '\(other)/master.key' '\(home)/'"
        try await checkProcess(["sh", "-c", replace])
        for arguments in [["serve", "--port", "0"], ["title", "list"], ["keys", "rotate"]] {
            let refused = try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
            #expect(refused.status == .exited(78), "\(arguments): \(refused.errorText)")
            #expect(refused.errorText.contains("the database belongs to the installation"), "\(refused.errorText)")
        }
        #expect(try await blobs() == before)
    }

    @Test func `keeps what an older backup does not name, and says so`() async throws {
        try await ingest(into: home, seconds: 2)
        let backup = directory.file("backup.db")
        try await checkProcess([DemoServer.program, "backup", backup, "--home", home])
        try await ingest(into: home, seconds: 3)
        let before = try await blobs()
        #expect(try await carrel("restore", backup).status == .exited(0))
        let server = try BackgroundProcess([
            DemoServer.program, "serve", "--home", home, "--port", "0", "--sweep-everything",
        ])
        _ = try await server.waitForLine(containing: "listening on http")
        for _ in 0..<500 where !server.errors.contains("unused media are kept until") {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(server.errors.contains("unused media are kept until you delete \(home)/carrel.db.before-restore"))
        #expect(await server.terminate() == .exited(0))
        #expect(try await blobs() == before)
    }
}
