// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelThreads

/// A back end whose blocking calls run on a dedicated thread.
package final class ThreadedVault: VaultBackend, @unchecked Sendable {  // only the one thread of `threads` touches `blocking`
    package let kind: VaultKind
    package let level: VaultLevel
    package let promises: VaultPromises
    private let threads: BlockingThreadPool
    private var blocking: (any BlockingVault)?

    private init(
        _ kind: VaultKind,
        _ level: VaultLevel,
        _ promises: VaultPromises,
        _ threads: BlockingThreadPool,
        _ blocking: any BlockingVault
    ) {
        self.kind = kind
        self.level = level
        self.promises = promises
        self.threads = threads
        self.blocking = blocking
    }

    /// Opens a vault on a new thread.
    ///
    /// - Parameters:
    ///   - kind: the kind of the vault.
    ///   - level: its level.
    ///   - promises: its guarantees.
    ///   - open: runs on the thread.
    /// - Returns: the vault.
    /// - Throws: the errors of `open`.
    package static func open(
        _ kind: VaultKind,
        level: VaultLevel,
        promises: VaultPromises,
        _ open: @escaping @Sendable () throws(VaultError) -> any BlockingVault
    ) async throws(VaultError) -> Vault {
        let threads = BlockingThreadPool(name: "vault-\(kind.rawValue)", count: 1, limit: 1024)
        let vault = try await threads.runVault { () throws(VaultError) in
            ThreadedVault(kind, level, promises, threads, try open())
        }
        return Vault(vault)
    }

    package func makeKey(named name: String, for uses: VaultKeyUses) async throws(VaultError) -> P256.PublicKey {
        try await run { vault throws(VaultError) in try vault.makeKey(named: name, for: uses) }
    }

    package func publicKey(named name: String) async throws(VaultError) -> P256.PublicKey? {
        try await run { vault throws(VaultError) in try vault.publicKey(named: name) }
    }

    package func sign(_ message: [UInt8], withKey name: String) async throws(VaultError) -> [UInt8] {
        try await run { vault throws(VaultError) in try vault.sign(message, withKey: name) }
    }

    package func agree(withKey name: String, other: P256.PublicKey) async throws(VaultError) -> Secret {
        try await run { vault throws(VaultError) in try vault.agree(withKey: name, other: other) }
    }

    package func removeKey(named name: String) async throws(VaultError) {
        try await run { vault throws(VaultError) in try vault.removeKey(named: name) }
    }

    package func seal(_ plaintext: Secret, associated: [UInt8]) async throws(VaultError) -> [UInt8] {
        try await run { vault throws(VaultError) in try vault.seal(plaintext, associated: associated) }
    }

    package func open(_ sealed: [UInt8], associated: [UInt8]) async throws(VaultError) -> Secret {
        try await run { vault throws(VaultError) in try vault.open(sealed, associated: associated) }
    }

    package func close() async {
        try? await threads.runVault { [self] () throws(VaultError) in blocking = nil }
    }

    private func run<Value: Sendable>(
        _ work: @escaping @Sendable (any BlockingVault) throws(VaultError) -> Value
    ) async throws(VaultError) -> Value {
        // The thread must not be the last owner: it would release the vault later, perhaps while the process exits and modules
        // are unloaded.
        defer { withExtendedLifetime(self) {} }
        return try await threads.runVault { [unowned self] () throws(VaultError) in
            guard let blocking else { throw .closed }
            return try work(blocking)
        }
    }
}

extension BlockingThreadPool {
    /// Runs work of a vault on one of the threads.
    ///
    /// - Throws: the errors of the work; `vault.unavailable` if too much waits.
    package func runVault<Value: Sendable>(
        _ work: @escaping @Sendable () throws(VaultError) -> Value
    ) async throws(VaultError) -> Value {
        let result: Result<Value, VaultError>
        do {
            result = try await run { Result(catching: work) }
        } catch {
            throw VaultError(.unavailable, "too many calls wait for the vault")
        }
        return try result.get()
    }
}
