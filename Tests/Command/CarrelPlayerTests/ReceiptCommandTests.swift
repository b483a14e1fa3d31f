// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Purchases in an app store as an operator and an app see them, with settings from the home's file.
struct `The command for receipts` {
    private let directory = TemporaryDirectory()

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments, timeout: .seconds(60))
    }

    @Test func `gives, lists and releases purchases, with a server and without`() async throws {
        let store = try await TestStore()
        let home = directory.file("home")
        for arguments in [["init"], ["account", "create", "alice"], ["account", "create", "bob"], ["plan", "create", "gold"]] {
            try await checkProcess([DemoServer.program] + arguments + ["--home", home])
        }
        let month = try await store.sign(TestStore.month(Instant.now()))
        let file = directory.write("transactions.txt", "\(month)\nrubbish\n")
        let off = try await carrel("receipt", "add", "alice", file, "--home", home)
        #expect(!off.status.isSuccess && off.errorText.contains("no app store is configured"))
        directory.write(
            "home/carrel.conf",
            """
            receipts.roots = \(store.rootFile)
            receipts.bundle-ids = com.example.reader
            receipts.plans = com.example.monthly=gold

            """
        )
        let added = try await carrel("receipt", "add", "alice", file, "--home", home)
        #expect(added.status.isSuccess, "\(added.errorText)")
        #expect(added.text.contains("accepted") && added.text.contains("plan gold") && added.text.contains("receipt.malformed"))
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = line.split(separator: " ").last.map(String.init) ?? ""
        let taken = try await DemoServer.json(["receipt", "add", "bob", file, "--home", home, "--json"])
        #expect(taken["transactions"]?.array?.first?["code"] == "receipt.taken")
        // Without an account, the transaction is the token.
        let standing = try await checkProcess(
            [try requirePeer("curl"), "-sf", "\(url)/verify_subscription", "--data-urlencode", "token=\(month)"]
        )
        #expect(standing.contains("state=\"active\"") && standing.contains("gold"))
        #expect(try await carrel("receipt", "release", "alice", "2000000001", "--home", home).status.isSuccess)
        let again = try await carrel("receipt", "release", "alice", "2000000001", "--home", home)
        #expect(again.errorText.contains("no such purchase"))
        let bob = try await DemoServer.json(["receipt", "add", "bob", file, "--home", home, "--json"])
        #expect(bob["transactions"]?.array?.first?["status"] == "accepted")
        _ = await server.terminate()
        let list = try await carrel("receipt", "list", "bob", "--home", home)
        #expect(list.text.contains("2000000001") && list.text.contains("plan gold"))
        let audited = try await DemoServer.json(["audit", "list", "--home", home, "--json"])
        #expect(audited["entries"]?.array?.contains { $0["action"] == "receipt.release" } == true)
    }
}
