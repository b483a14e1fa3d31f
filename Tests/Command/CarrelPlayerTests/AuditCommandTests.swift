// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelTesting
import Testing

/// The audit log on the command line, where no server runs.
struct `The commands of the audit log` {
    private struct Place {
        let directory = TemporaryDirectory()
        var home: String { directory.file("home") }

        func run(_ words: String..., input: String = "") async throws -> ProcessResult {
            try await runProcess([DemoServer.program] + words + ["--home", home], input: Array(input.utf8))
        }

        func checked(_ words: String...) async throws -> String {
            try await checkProcess([DemoServer.program] + words + ["--home", home])
        }
    }

    private func place() async throws -> Place {
        let place = Place()
        _ = try await place.checked("init")
        for name in ["alice", "bob"] { _ = try await place.checked("account", "create", name) }
        return place
    }

    @Test func `leave no unsealed entries`() async throws {
        let place = try await place()
        let home = try Home(at: place.home)
        let database = try SQLiteDatabase(path: home.databasePath, migrations: Schema.migrations)
        let rows = try await database.read { try $0.rows(SQL("SELECT action, number FROM audit"), []) }
        #expect(try rows.contains { try $0.text(0) == "account.create" })
        for row in rows { #expect(try row.integerIfPresent(1) != nil) }
        await database.close()
        #expect(try AuditHead(path: home.auditHeadPath).read()?.number == Int64(rows.count))
    }

    @Test func `write an archive once, and verify it alone, before another and before the log`() async throws {
        let place = try await place()
        let (first, second) = (place.directory.file("1.jsonl"), place.directory.file("2.jsonl"))
        #expect(try await place.checked("audit", "archive", first).contains("entries in \(first)"))
        #expect(try await checkProcess(["stat", "-c", "%a", first]) == "600\n")
        #expect(try await place.run("audit", "archive", first).status != .exited(0), "a file that is there stays")
        _ = try await place.checked("account", "create", "carol")
        _ = try await place.checked("audit", "archive", second)
        let said = try await place.checked("audit", "verify", "--archive", first, "--archive", second)
        #expect(said.split(separator: "\n").count == 3)
        let reversed = try await place.run("audit", "verify", "--archive", second, "--archive", first)
        #expect(reversed.status == .exited(65), "the oldest comes first")
    }

    @Test func `name a file that was changed or cut off, and end with 65`() async throws {
        let place = try await place()
        let file = place.directory.file("audit.jsonl")
        _ = try await place.checked("audit", "archive", file)
        for (change, why) in [
            ("2,$s/account/acc0unt/", "does not match its seal"), ("$d", "truncated"), ("1d", "not an archive"),
        ] {
            let other = place.directory.file("changed.jsonl")
            try await checkProcess(["sh", "-c", "sed '\(change)' \(file) > \(other)"])
            let answer = try await place.run("audit", "verify", "--archive", other)
            #expect(answer.status == .exited(65), "\(change)")
            #expect(answer.errorText.contains(why), "\(answer.errorText)")
        }
    }
}
