// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

struct `A home whose state is in PostgreSQL` {
    @Test func `is not taken for an empty one by a command that is not told`() async throws {
        let directory = TemporaryDirectory()
        let home = directory.file("home")
        let address = try await PrivatePostgres.shared().newDatabase()
        func carrel(_ arguments: String...) async throws -> ProcessResult {
            try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
        }
        #expect(try await carrel("init", "--database", address).errorText.contains("created a home at"))
        let made = try await carrel("account", "create", "alice", "--database", address)
        #expect(made.status.isSuccess, "\(made.errorText)")
        let backup = directory.file("backup.db")
        for arguments in [["account", "list"], ["ingest", "book.mp3"], ["serve", "--port", "0"], ["backup", backup]] {
            let refused = try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
            #expect(refused.status == .exited(64), "\(arguments)")
            #expect(refused.errorText.hasPrefix("carrel: error:"))
        }
        let refused = try await carrel("account", "list")
        #expect(refused.errorText.contains("this home keeps its state in PostgreSQL"))
        #expect(refused.errorText.contains("CARREL_DATABASE"))
        let note = String(decoding: try #require(directory.read("home/database")), as: UTF8.self)
        #expect(!note.contains("@"), "neither user nor password stay in the home")
        #expect(directory.read("home/carrel.db") == nil)
        #expect(try await carrel("account", "list", "--database", address).text.contains("alice"))
    }
}
