// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import CarrelVault
import Glibc
import Testing

/// Each in a process of its own, because a process has one session bus.
struct `A vault in the keyring` {
    private func program(_ keyring: Keyring, _ folder: String, _ options: [String] = []) async throws -> ProcessResult {
        try await program(keyring.environment, folder, options)
    }

    private func program(_ environment: [String: String], _ folder: String, _ options: [String]) async throws -> ProcessResult {
        let command = [try vaultProgram()] + options + ["secret-service", folder, "--", "make", "device"]
        return try await runProcess(command, environment: environment, timeout: .seconds(20))
    }

    @Test func `opens while the keyring is unlocked`() async throws {
        let keyring = try await Keyring()
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        let made = try await program(keyring, folder, ["create"])
        #expect(made.status.isSuccess && made.text.utf8.count == 129, "\(made.text)")
        #expect(try await program(keyring, folder).text == made.text)
        try await keyring.lock()
        #expect(try await program(keyring, folder, ["no-prompt"]).text == "vault.locked\n")
        #expect(try await program(keyring, directory.file("other"), ["create", "no-prompt"]).text == "vault.locked\n")
        // there is no program here that shows the prompt
        #expect(try await program(keyring, folder).text == "vault.refused\n")
        #expect(directory.read("other/vault.json") == nil)
    }

    @Test func `needs a session bus with a service that answers`() async throws {
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        let start = ContinuousClock.now
        let without = try await Keyring(hasService: false)
        #expect(try await program(without, folder, ["create"]).text == "vault.unavailable\n")
        for address in ["unix:path=\(directory.file("nowhere"))", "nonsense", ""] {
            let environment = without.environment.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
            #expect(try await program(environment, folder, ["create"]).text == "vault.unavailable\n", "\(address)")
        }
        let keyring = try await Keyring()
        #expect(try await program(keyring, folder, ["create"]).status.isSuccess)
        keyring.freeze()
        defer { keyring.thaw() }
        #expect(try await program(keyring, folder).text == "vault.unavailable\n")
        #expect(ContinuousClock.now - start < .seconds(15))
    }

    @Test func `is absent where its item is gone, or the keyring is another user's`() async throws {
        let tool = try requirePeer("secret-tool")
        let (keyring, other) = (try await Keyring(), try await Keyring())
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        #expect(try await program(keyring, folder, ["create"]).status.isSuccess)
        #expect(try await program(other, folder).text == "vault.absent\n")
        let id = Hex.encode(try VaultFolder(folder, kind: .secretService).load().id)
        let search = try await runProcess([tool, "search", "carrel-vault", id], environment: keyring.environment)
        #expect((search.text + search.errorText).contains("attribute.carrel-vault = \(id)"))
        try await checkProcess([tool, "clear", "carrel-vault", id], environment: keyring.environment)
        #expect(try await program(keyring, folder).text == "vault.absent\n")
    }

    @Test func `notices another secret in its item`() async throws {
        let tool = try requirePeer("secret-tool")
        let keyring = try await Keyring()
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        #expect(try await program(keyring, folder, ["create"]).status.isSuccess)
        let id = Hex.encode(try VaultFolder(folder, kind: .secretService).load().id)
        let store = [tool, "store", "--label=Carrel", "xdg:schema", "org.carrel.Vault", "carrel-vault", id]
        try await checkProcess(store, environment: keyring.environment, input: Array(repeating: 0x61, count: 32))
        #expect(try await program(keyring, folder).text == "vault.damaged\n")
        try await checkProcess(store, environment: keyring.environment, input: Array("short".utf8))
        #expect(try await program(keyring, folder).text == "vault.absent\n")
    }
}
