// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The commands around backups, roots and tokens, as an operator runs them.
struct `An operator` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func carrel(_ arguments: String..., input: String = "") async throws -> ProcessResult {
        try await runProcess(
            [DemoServer.program] + arguments + ["--home", home],
            input: Array(input.utf8),
            timeout: .seconds(60)
        )
    }

    private func backUp() async throws -> String {
        let backup = directory.file("backup.db")
        try await checkProcess([DemoServer.program, "init", "--home", home])
        try await checkProcess([DemoServer.program, "backup", backup, "--home", home])
        return backup
    }

    private func json(_ result: ProcessResult) throws -> JSON {
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    @Test func `sees what a restore ended and carried over`() async throws {
        let backup = try await backUp()
        let rotated = try json(try await carrel("pki", "rotate", "license", "--json"))["id"]?.string
        let result = try await carrel("restore", backup, "--json")
        #expect(result.status == .exited(0), "\(result.errorText)")
        let restored = try json(result)
        for name in ["sessions", "links", "appPasswords", "serviceKeys", "communicationKeys"] {
            #expect(restored["ended"]?[name]?.int == 0, "\(name)")
        }
        for name in ["tickets", "credentials", "tokens", "licenseMessages"] {
            #expect(restored["ended"]?[name]?.string == "all", "\(name)")
        }
        for name in ["players", "certificates", "revocations", "redemptions", "licenses", "authorities"] {
            #expect(restored["carriedOver"]?[name]?.int == 0, "\(name)")
        }
        #expect(restored["carriedOver"]?["keys"]?.int == 2, "the new key, and the end of the one before")
        let keys = try json(try await carrel("pki", "show", "--json"))["keys"]?.array ?? []
        #expect(keys.contains { $0["id"]?.string == rotated && $0["isCurrent"]?.bool == true })
        #expect(try await carrel("audit", "verify").status == .exited(0))
    }

    @Test func `learns that nothing could be carried over`() async throws {
        let backup = try await backUp()
        try await checkProcess(["sh", "-c", "rm -f \(home)/carrel.db-*; head -c 50000 /dev/urandom > \(home)/carrel.db"])
        let result = try await carrel("restore", backup)
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(result.text.contains("nothing was carried over from the replaced database: it cannot be opened"))
        #expect(result.text.contains("'carrel pki import-root' recovers a rotated root"))
    }

    @Test func `gets an error from a restore without the master key, until the key is there`() async throws {
        let backup = try await backUp()
        let key = directory.file("key")
        try await checkProcess(["mv", "\(home)/master.key", key])
        let result = try await carrel("restore", backup, "--json")
        #expect(result.status == .exited(78))
        #expect(result.errorText.contains("master.key is missing"), "\(result.errorText)")
        #expect(try json(result)["masterKeyMissing"]?.bool == true)
        #expect(try await carrel("pki", "show").status == .exited(78))
        try await checkProcess(["mv", key, "\(home)/master.key"])
        #expect(try await carrel("pki", "show").status == .exited(0))
        #expect(try await carrel("restore", backup).status == .exited(0))
    }

    @Test func `finishes a restore that another tool made`() async throws {
        let backup = try await backUp()
        let rotated = try json(try await carrel("pki", "rotate", "license", "--json"))["id"]?.string
        let old = directory.file("old.db")
        try await checkProcess([
            "sh", "-c", "rm -f \(home)/carrel.db-*; mv \(home)/carrel.db \(old) && cp \(backup) \(home)/carrel.db",
        ])
        for arguments in [["--database-restored", backup], ["--replaced", old, backup], []] {
            let refused = try await runProcess(
                [DemoServer.program, "restore", "--home", home] + arguments,
                timeout: .seconds(60)
            )
            #expect(refused.status == .exited(64), "\(arguments): \(refused.errorText)")
        }
        let result = try await carrel("restore", "--database-restored", "--replaced", old)
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(result.text.contains("keys 2"), "\(result.text)")
        let keys = try json(try await carrel("pki", "show", "--json"))["keys"]?.array ?? []
        #expect(keys.contains { $0["id"]?.string == rotated && $0["isCurrent"]?.bool == true })
        #expect(try await carrel("audit", "verify").status == .exited(0))
    }

    @Test func `takes the root away from the server, and brings it back`() async throws {
        _ = try await backUp()
        let (file, passphrase) = (directory.file("root.txt"), "correct horse battery\n")
        let taken = try await carrel("pki", "export-root", file, "--remove", input: passphrase)
        #expect(taken.status == .exited(0), "\(taken.errorText)")
        let refused = try await carrel("pki", "rotate", "license")
        #expect(refused.status != .exited(0) && refused.errorText.contains("carrel pki import-root FILE"), "\(refused.errorText)")
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        _ = try await server.waitForLine(containing: "listening on http")
        #expect(await server.terminate() == .exited(0))
        #expect(try await carrel("pki", "import-root", file, input: "another passphrase\n").status != .exited(0))
        let back = try await carrel("pki", "import-root", file, "--json", input: passphrase)
        #expect(try json(back)["changed"]?.bool == true)
        #expect(try await carrel("pki", "rotate", "license").status == .exited(0))
    }

    @Test func `replaces the secrets of tokens`() async throws {
        _ = try await backUp()
        let rotated = try json(try await carrel("keys", "rotate-tokens", "--json"))
        #expect(rotated["key"]?.int == 2 && rotated["forgotten"]?.int == 0)
        let ended = try json(try await carrel("keys", "rotate-tokens", "--at-once", "--json"))
        #expect(ended["key"]?.int == 3 && ended["forgotten"]?.int == 2)
    }
}
